// Small parts that every screen uses: states of loading, outcome badges, copy buttons, long texts, choices.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Loaded } from "./data";
import { brief, parts, visible } from "./text";

/** `title` heads a screen that has nothing else yet. */
export function Waiting({ of, what, title }: { of: Loaded<unknown>; what: string; title?: string }) {
  const heading = title === undefined ? null : <h1>{brief(title, 120)}</h1>;
  if (of.error === null) return <>{heading}<p class="loading" role="status">Loading {what}…</p></>;
  return <>{heading}<Failure message={of.error} retry={of.retry} /></>;
}

export function Failure({ message, retry }: { message: string; retry?: () => void }) {
  return (
    <p class="failure" role="alert">
      {brief(message, 600)} {retry && <button type="button" onClick={retry}>Retry</button>}
    </p>
  );
}

/** A long name that breaks where its words end. */
export function Name({ of, most = 120 }: { of: string; most?: number }) {
  return <>{parts(brief(of, most)).map((part, at) => (at === 0 ? part : [<wbr key={at} />, part]))}</>;
}

const SIGNS: Record<string, string> = { passed: "✓", failed: "✗", invalid: "⊘", error: "!", lost: "?" };

export function Outcome({ of, word }: { of: string | null | undefined; word?: string }) {
  const outcome = of || "unknown";
  return <span class={`outcome ${SIGNS[outcome] ? outcome : "lost"}`}><span aria-hidden="true">{SIGNS[outcome] ?? "·"}</span> {brief(word ?? outcome, 30)}</span>;
}

export function Copy({ text, what }: { text: string; what: string }) {
  const [done, setDone] = useState("");
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      setDone("Copied");
    } catch {
      setDone("Not allowed by the browser");
    }
    setTimeout(() => setDone(""), 1500);
  };
  return <button type="button" class="copy" aria-label={`Copy ${what}`} onClick={copy}>{done || "Copy"}</button>;
}

const FIRST = 20_000;
const MORE = 200_000;

/** A text of any length: the beginning, and more on demand, so that 10 MB do not stop the page. */
export function LongText({ text, label }: { text: string; label: string }) {
  const [shown, setShown] = useState(FIRST);
  if (text === "") return <p class="soft">Empty.</p>;
  const rest = text.length - shown;
  return (
    <div class="long">
      <pre tabIndex={0} aria-label={label}>{visible(rest > 0 ? text.slice(0, shown) : text)}</pre>
      {rest > 0 && (
        <button type="button" onClick={() => setShown(shown + MORE)}>
          Show more ({rest.toLocaleString("en")} characters are left)
        </button>
      )}
    </div>
  );
}

export interface Option {
  value: string;
  label: string;
}

export function Choice(props: { label: string; value: string; options: Option[]; onChange: (value: string) => void; hideLabel?: boolean }) {
  return (
    <label class="choice">
      <span class={props.hideLabel ? "unseen" : ""}>{props.label}</span>
      <select value={props.value} aria-label={props.label} onChange={(event) => props.onChange(event.currentTarget.value)}>
        {props.options.map((option) => <option key={option.value} value={option.value}>{brief(option.label, 90)}</option>)}
      </select>
    </label>
  );
}

export function Section({ title, aside, tools, children }: { title: string; aside?: ComponentChildren; tools?: ComponentChildren; children: ComponentChildren }) {
  return (
    <section>
      <div class="head"><h2>{title} {aside && <span class="aside">{aside}</span>}</h2>{tools}</div>
      {children}
    </section>
  );
}

/** A link that keys follow too: `name` is what `main.tsx` looks for. Dashed where there is nothing. */
export function Step({ to, name, spoken, children }: { to: string | null; name: string; spoken?: string; children: ComponentChildren }) {
  if (to === null) return <span class="step off" aria-hidden="true">{children}</span>;
  return <a class="step" data-step={name} href={to} aria-label={spoken}>{children}</a>;
}

export function Tabs({ tabs, active, onChoose, label }: { tabs: Option[]; active: string; onChoose: (value: string) => void; label: string }) {
  const step = (event: KeyboardEvent, by: number): void => {
    const at = tabs.findIndex((tab) => tab.value === active);
    const next = tabs[(at + by + tabs.length) % tabs.length];
    event.preventDefault();
    event.stopPropagation();
    if (next) onChoose(next.value);
    const list = event.currentTarget as HTMLElement;
    requestAnimationFrame(() => list.querySelector<HTMLElement>('[aria-selected="true"]')?.focus());
  };
  const list = useRef<HTMLDivElement>(null);
  // On a phone not all of them have room.
  useEffect(() => list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest", inline: "nearest" }), [active]);
  return (
    <div
      ref={list} class="tabs" role="tablist" aria-label={label}
      onKeyDown={(event) => {
        if (event.key === "ArrowRight") step(event, 1);
        if (event.key === "ArrowLeft") step(event, -1);
      }}
    >
      {tabs.map((tab) => (
        <button
          key={tab.value} type="button" role="tab" id={`tab-${tab.value}`} aria-selected={tab.value === active}
          aria-controls="panel" tabIndex={tab.value === active ? 0 : -1}
          onClick={(event) => {
            onChoose(tab.value);
            if (event.detail > 0) event.currentTarget.blur(); // by pointer: the arrow keys go on through the rollouts
          }}
        >
          {tab.label}
        </button>
      ))}
    </div>
  );
}
