// The tokens of a rollout as a heat map; the token under the pointer (or the cursor) tells its numbers.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { route, set } from "./route";
import { number, plural, visible } from "./text";
import type { Num, Tokens } from "./types";
import { Choice } from "./ui";

interface Metric {
  key: string;
  label: string;
  about: string;
  values: Num[];
  signed: boolean;
}

const LEVELS = 6;
const AT_ONCE = 4000;

function metrics(tokens: Tokens): Metric[] {
  const minus = (values: Num[] | null): Num[] | null => values?.map((value) => (value === null ? null : -value)) ?? null;
  const all: [string, string, string, Num[] | null, boolean][] = [
    ["kl", "Reverse KL to the teacher", "log p of the student minus log p of the teacher: where it is large, the teacher would hardly have written this.", tokens.kl, true],
    ["teacher", "Teacher's surprisal (-log p)", "How unlikely the teacher finds the token, in nats.", minus(tokens.teacher), false],
    ["entropy", "Student's entropy", "How undecided the student was, in nats at temperature 1: from its likeliest tokens, all others taken as one.", tokens.entropy, false],
    ["surprisal", "Student's surprisal (-log p)", "How unlikely the student found the token that was sampled, in nats.", minus(tokens.logprob), false],
    ["advantage", "Advantage", "What the step was made with: above 0 the token becomes likelier, below 0 less likely.", tokens.advantage, true],
  ];
  return all.flatMap(([key, label, about, values, signed]) => (values?.some((value) => value !== null) ? [{ key, label, about, values, signed }] : []));
}

const LEAST = 0.0005; // smaller ones are written as 0
const LEAST_TOP = 0.02; // differences below this are noise: they do not get the deepest colour

/** The size that gets the deepest colour: all but the largest 2 % are told apart, unless these are far above the rest. */
function top(values: Num[]): number {
  const sizes = values.flatMap((value) => (value === null || !Number.isFinite(value) ? [] : [Math.abs(value)])).sort((a, b) => a - b);
  return Math.max(sizes[Math.floor(0.98 * (sizes.length - 1))] ?? 0, (sizes.at(-1) ?? 0) / 10, LEAST_TOP);
}

const short = (value: Num | undefined): string => (value !== null && value !== undefined && value !== 0 && Math.abs(value) < LEAST ? "≈ 0" : number(value));

function shade(value: Num | undefined, most: number): string {
  if (value === null || value === undefined) return "";
  const level = Math.min(LEVELS, Math.round((LEVELS * Math.abs(value)) / most));
  return level === 0 ? "" : `${value < 0 ? "cold" : "hot"}${level}`;
}

export function Heat({ tokens }: { tokens: Tokens }) {
  const offered = useMemo(() => metrics(tokens), [tokens]);
  const wanted = route.value.query.get("heat");
  const metric = offered.find((one) => one.key === wanted) ?? offered[0];
  const count = tokens.text.length;
  const linked = Number(route.value.query.get("token") ?? "-1");
  const [at, setAt] = useState<number | null>(Number.isInteger(linked) && linked >= 0 && linked < count ? linked : null);
  const [shown, setShown] = useState(Math.max(AT_ONCE, (at ?? 0) + 1));
  const box = useRef<HTMLDivElement>(null);
  const most = useMemo(() => (metric ? top(metric.values) : 1), [metric]);
  const spans = useMemo(() => {
    const out = [];
    for (let place = 0; place < Math.min(count, shown); place++) {
      const turn = tokens.turn?.[place];
      if (turn !== undefined && turn !== (place === 0 ? turn : tokens.turn?.[place - 1])) out.push(<span key={`turn${place}`} class="turn-mark">turn {turn}</span>);
      out.push(<span key={place} data-at={place} class={shade(metric?.values[place], most)}>{visible((tokens.text[place] ?? "").slice(0, 2000))}</span>);
    }
    return out;
  }, [tokens, metric, most, shown]);
  useEffect(() => {
    const chosen = at === null ? null : box.current?.querySelector(`[data-at="${at}"]`);
    chosen?.classList.add("chosen-token");
    return () => chosen?.classList.remove("chosen-token");
  }, [at, spans]);
  const go = (place: number): void => {
    setAt(place);
    setShown((most) => Math.max(most, place + 1));
    set({ token: place }, true);
    requestAnimationFrame(() => box.current?.querySelector(`[data-at="${place}"]`)?.scrollIntoView({ block: "nearest" }));
  };
  const under = (event: Event): number | null => {
    const place = (event.target as HTMLElement).dataset["at"];
    return place === undefined ? null : Number(place);
  };
  const [tip, setTip] = useState<Tip | null>(null);
  const hover = (event: PointerEvent): void => {
    const place = under(event);
    if (place !== null) setAt(place);
    setTip(place === null || event.pointerType === "touch" ? null : tipAt(place, event.target as HTMLElement));
  };
  const leave = (): void => setTip(null);
  const pick = (event: Event): void => {
    const place = under(event);
    if (place !== null) go(place);
  };
  const keys = (event: KeyboardEvent): void => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!by) return;
    event.preventDefault();
    event.stopPropagation();
    go(Math.max(0, Math.min(count - 1, (at ?? -1) + by)));
  };
  return (
    <div class="heat">
      <div class="bar">
        {metric && <Choice label="Colour" value={metric.key} options={offered.map(({ key, label }) => ({ value: key, label }))} onChange={(value) => set({ heat: value }, true)} />}
        {metric && <span class="scale small">0 {Array.from({ length: LEVELS }, (_, level) => <span key={level} class={`swatch hot${level + 1}`} />)} {number(most)}{metric.signed && <> (negative: <span class="swatch cold5" />)</>}</span>}
        {!metric && <span class="soft">The run kept no numbers for these tokens.</span>}
        <span class="soft small">{plural(count, "token")}</span>
      </div>
      {metric && <p class="soft small about">{metric.about}</p>}
      <div class="heat-columns">
        <div ref={box} class="heat-text" tabIndex={0} role="application" aria-label="Tokens. Left and right move from token to token." onPointerOver={hover} onPointerLeave={leave} onScroll={leave} onClick={pick} onKeyDown={keys}>{spans}</div>
        {tip && metric && <Tooltip tip={tip} tokens={tokens} metric={metric} />}
        <aside class={`token-detail${at === null ? " idle" : ""}`} aria-label="Token">
          <Detail tokens={tokens} at={at} />
          {metric && <Largest tokens={tokens} metric={metric} go={go} />}
        </aside>
      </div>
      {shown < count && <button type="button" onClick={() => setShown(shown + 2 * AT_ONCE)}>Show more ({plural(count - shown, "token")} left)</button>}
    </div>
  );
}

interface Tip {
  at: number;
  left: number;
  top: number;
  above: boolean;
}

const TIP_WIDTH = 250;
const TIP_HEIGHT = 150;

/** Below the first line of the token; above it where there is no room, and never beyond the right edge. */
function tipAt(at: number, token: HTMLElement): Tip {
  const box = token.getClientRects()[0] ?? token.getBoundingClientRect();
  const above = box.bottom + TIP_HEIGHT > innerHeight;
  return { at, left: Math.max(4, Math.min(box.left, innerWidth - TIP_WIDTH - 12)), top: above ? box.top - 6 : box.bottom + 6, above };
}

/** What the eye wants to know of the token under the pointer; the panel beside has all of it, for every reader. */
function Tooltip({ tip, tokens, metric }: { tip: Tip; tokens: Tokens; metric: Metric }) {
  const likeliest = tokens.top?.[tip.at] ?? [];
  return (
    <div class={`tip${tip.above ? " above" : ""}`} aria-hidden="true" style={{ left: `${tip.left}px`, top: `${tip.top}px`, width: `${TIP_WIDTH}px` }}>
      <p><span class="soft">{metric.label}</span> <strong>{short(metric.values[tip.at])}</strong></p>
      {likeliest.length > 0 && <p class="soft">Teacher's likeliest</p>}
      {likeliest.slice(0, 3).map(([piece, logprob], place) => <p key={place}><code>{JSON.stringify(visible(piece.slice(0, 24)))}</code> <span>{chance(logprob)}</span></p>)}
    </div>
  );
}

const chance = (logprob: number): string => `${(100 * Math.exp(logprob)).toFixed(1)}%`;

/** A teacher with other tokens judges some of the student's together: only their sum is its own word. */
function Chunk({ tokens, at }: { tokens: Tokens; at: number }) {
  const { chunk, kl, text } = tokens;
  const own = chunk?.[at];
  if (!chunk || own === undefined) return null;
  let end = at + 1;
  while (chunk[end] === own) end++;
  if (end - own < 2) return null;
  const sum = kl?.slice(own, end).reduce((total: Num, one) => (total === null || one === null ? null : total + one), 0);
  return <p>The teacher read tokens {own} to {end - 1} as one piece, <code>{JSON.stringify(visible(text.slice(own, Math.min(end, own + 40)).join("").slice(0, 120)))}</code>{sum !== null && sum !== undefined && <>: reverse KL {number(sum)} in all, shared out among them</>}.</p>;
}

function Detail({ tokens, at }: { tokens: Tokens; at: number | null }) {
  if (at === null) return <p class="soft">Point at a token, or move with ← and →, to see its numbers.</p>;
  const rows: [string, Num | undefined][] = [
    ["log p, student", tokens.logprob?.[at]], ["log p, teacher", tokens.teacher?.[at]], ["Reverse KL", tokens.kl?.[at]], ["Entropy", tokens.entropy?.[at]], ["Advantage", tokens.advantage?.[at]],
  ];
  const likeliest = tokens.top?.[at];
  return (
    <div role="status">
      <p><strong>Token {at}</strong> <code>{JSON.stringify(visible((tokens.text[at] ?? "").slice(0, 80)))}</code></p>
      <table><tbody>{rows.filter(([, value]) => value !== null && value !== undefined).map(([label, value]) => <tr key={label}><th scope="row">{label}</th><td class="number">{short(value)}</td></tr>)}</tbody></table>
      <Chunk tokens={tokens} at={at} />
      {likeliest && likeliest.length > 0 && (
        <table>
          <thead><tr><th>Teacher's likeliest</th><th class="number">p</th></tr></thead>
          <tbody>{likeliest.slice(0, 12).map(([piece, logprob], place) => <tr key={place}><td><code>{JSON.stringify(visible(piece.slice(0, 60)))}</code></td><td class="number">{chance(logprob)}</td></tr>)}</tbody>
        </table>
      )}
    </div>
  );
}

const LARGEST = 8;

/** Where the chosen number is largest: each leads to its token. */
function Largest({ tokens, metric, go }: { tokens: Tokens; metric: Metric; go: (place: number) => void }) {
  const places = useMemo(() => {
    const size = (place: number): number => Math.abs(metric.values[place] ?? 0);
    return metric.values.flatMap((value, place) => (value === null || Math.abs(value) < LEAST ? [] : [place])).sort((a, b) => size(b) - size(a)).slice(0, LARGEST);
  }, [metric]);
  if (places.length === 0) return null;
  return (
    <>
      <h2 class="minor">Largest here</h2>
      <ul class="largest">
        {places.map((place) => (
          <li key={place}><button type="button" class="plain" onClick={() => go(place)}><code>{JSON.stringify(visible((tokens.text[place] ?? "").slice(0, 30)))}</code></button> <span>{number(metric.values[place])}</span></li>
        ))}
      </ul>
    </>
  );
}
