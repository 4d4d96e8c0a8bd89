// Two texts side by side, equal stretches folded; on a phone the two sides stand under each other.
import { diffLines, diffWordsWithSpace } from "diff";
import { useMemo, useState } from "preact/hooks";
import { designs, matched } from "./reply";
import { brief, plural, visible } from "./text";
import type { Files } from "./types";

type Side = { line: number; text: string } | null;
interface Pair {
  kind: "same" | "changed";
  left: Side;
  right: Side;
}

const MOST = 400_000;
const LONGEST = 500;
const CONTEXT = 4;
const AT_ONCE = 400;

/** Null where the texts are too long or too different to compare in half a second. */
export function pairs(a: string, b: string): Pair[] | null {
  if (a.length + b.length > MOST) return null;
  const parts = diffLines(a.replaceAll("\r\n", "\n"), b.replaceAll("\r\n", "\n"), { timeout: 500 });
  if (!parts) return null;
  const out: Pair[] = [];
  let [left, right] = [0, 0];
  let gone: string[] = [];
  const flush = (come: string[]): void => {
    for (let at = 0; at < Math.max(gone.length, come.length); at++) {
      const [old, fresh] = [gone[at], come[at]];
      out.push({ kind: "changed", left: old === undefined ? null : { line: ++left, text: old }, right: fresh === undefined ? null : { line: ++right, text: fresh } });
    }
    gone = [];
  };
  for (const part of parts) {
    const lines = part.value.replace(/\n$/, "").split("\n");
    if (part.removed) {
      flush([]);
      gone = lines;
    } else if (part.added) flush(lines);
    else {
      flush([]);
      for (const text of lines) out.push({ kind: "same", left: { line: ++left, text }, right: { line: ++right, text } });
    }
  }
  flush([]);
  return out;
}

function Words({ own, other, added }: { own: string; other: string | undefined; added: boolean }) {
  if (other === undefined || own.length > LONGEST || other.length > LONGEST) return <>{brief(own, LONGEST)}</>;
  const parts = added ? diffWordsWithSpace(other, own) : diffWordsWithSpace(own, other);
  return <>{parts.filter((part) => (added ? !part.removed : !part.added)).map((part, at) => (part.added || part.removed ? <mark key={at}>{visible(part.value)}</mark> : visible(part.value)))}</>;
}

function fold(all: Pair[], open: Set<number>): (Pair | { hidden: number; at: number })[] {
  const near = new Uint8Array(all.length);
  all.forEach((pair, at) => {
    if (pair.kind === "changed") near.fill(1, Math.max(0, at - CONTEXT), at + CONTEXT + 1);
  });
  const out: (Pair | { hidden: number; at: number })[] = [];
  for (let at = 0; at < all.length; ) {
    let end = at;
    while (end < all.length && !near[end]) end++;
    if (end - at > 2 && !open.has(at)) out.push({ hidden: end - at, at });
    else for (let each = at; each < end; each++) out.push(all[each] as Pair);
    at = end;
    if (at < all.length) out.push(all[at++] as Pair);
  }
  return out;
}

export function Diff({ a, b, names }: { a: string; b: string; names: [string, string] }) {
  const all = useMemo(() => pairs(a, b), [a, b]);
  const [open, setOpen] = useState<Set<number>>(new Set());
  const [most, setMost] = useState(AT_ONCE);
  if (all === null) return <p class="soft">The two texts are too long or too different to compare here.</p>;
  if (all.every((pair) => pair.kind === "same")) return <p class="soft">The two are the same, line by line.</p>;
  const shown = fold(all, open);
  const cell = (side: Side, other: Side, kind: string, added: boolean) => (
    <>
      <td class="line-number">{side?.line ?? ""}</td>
      <td class={`side ${kind === "changed" ? (side ? (added ? "added" : "removed") : "void") : ""}`}>
        {side && <code>{kind === "changed" ? <Words own={side.text} other={other?.text} added={added} /> : brief(side.text, LONGEST)}</code>}
      </td>
    </>
  );
  return (
    <>
      <table class="diff">
        <colgroup><col class="line-number-column" /><col /><col class="line-number-column" /><col /></colgroup>
        <thead><tr><th colSpan={2}>{brief(names[0], 60)}</th><th colSpan={2}>{brief(names[1], 60)}</th></tr></thead>
        <tbody>
          {shown.slice(0, most).map((entry, at) =>
            "hidden" in entry ? (
              <tr key={at} class="fold"><td colSpan={4}><button type="button" class="plain" onClick={() => setOpen(new Set([...open, entry.at]))}>… {plural(entry.hidden, "equal line")}</button></td></tr>
            ) : (
              <tr key={at} class={entry.kind}>{cell(entry.left, entry.right, entry.kind, false)}{cell(entry.right, entry.left, entry.kind, true)}</tr>
            ),
          )}
        </tbody>
      </table>
      {shown.length > most && <button type="button" onClick={() => setMost(most + 2000)}>Show more ({plural(shown.length - most, "row")})</button>}
    </>
  );
}

export function DiffFiles({ a, b, names }: { a: Files; b: Files; names: [string, string] }) {
  const files = useMemo(() => matched(designs(a), designs(b)), [a, b]);
  if (files.length === 0) return <p class="soft">Neither has any RTL.</p>;
  return <>{files.map((file) => <div class="file" key={file.path}><p class="file-name"><code>{brief(file.path, 120)}</code></p><Diff a={file.a} b={file.b} names={names} /></div>)}</>;
}

/** The lines of `b` that `a` does not have. */
export function newLines(a: string, b: string): Set<number> {
  return new Set((pairs(a, b) ?? []).flatMap((pair) => (pair.kind === "changed" && pair.right ? [pair.right.line] : [])));
}
