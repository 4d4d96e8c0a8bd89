// RTL with line numbers and diagnostics at their lines; virtualised, and long lines are cut.
import { useMemo, useState } from "preact/hooks";
import { designs, isAbout } from "./reply";
import { brief, plural, visible } from "./text";
import type { Diagnostic, Files } from "./types";
import { Copy } from "./ui";
import { commentStarts, tokens } from "./verilog";
import { VirtualList } from "./virtual";

const LINE = 20;
const LONGEST = 1000;
const COLOURED = 2_000_000;

type Entry = { line: number; from: number; text: string; cut: number } | { diagnostic: Diagnostic };

function entries(lines: string[], diagnostics: Diagnostic[], whole: Set<number>): Entry[] {
  const at = new Map<number, Diagnostic[]>();
  for (const one of diagnostics) {
    const line = Math.max(1, Math.min(lines.length, one.line || 1));
    at.set(line, [...(at.get(line) ?? []), one]);
  }
  const out: Entry[] = [];
  lines.forEach((text, index) => {
    const number = index + 1;
    const upTo = whole.has(number) ? text.length : Math.min(text.length, LONGEST);
    for (let from = 0; from === 0 || from < upTo; from += LONGEST) {
      const last = from + LONGEST >= upTo;
      out.push({ line: number, from, text: text.slice(from, Math.min(upTo, from + LONGEST)), cut: last ? text.length - upTo : 0 });
    }
    for (const diagnostic of at.get(number) ?? []) out.push({ diagnostic });
  });
  return out;
}

interface CodeProps {
  text: string;
  label: string;
  diagnostics?: Diagnostic[];
  marked?: Set<number>;
  most?: number;
}

export function Code({ text, label, diagnostics = [], marked, most = 520 }: CodeProps) {
  const [whole, setWhole] = useState<Set<number>>(new Set());
  const lines = useMemo(() => text.replaceAll("\r\n", "\n").replace(/\n$/, "").split("\n"), [text]);
  const starts = useMemo(() => (text.length < COLOURED ? commentStarts(lines) : null), [lines]);
  const shown = useMemo(() => entries(lines, diagnostics, whole), [lines, diagnostics, whole]);
  const firstError = shown.findIndex((entry) => "diagnostic" in entry && entry.diagnostic.severity === "error");
  const render = (at: number) => {
    const entry = shown[at];
    if (!entry) return null;
    if ("diagnostic" in entry) {
      const { tool, severity, text: said } = entry.diagnostic;
      return <div key={at} class={`code-line said ${severity === "error" ? "error" : "warning"}`} title={brief(said, 500)}><span class="line-number" />{brief(severity, 12)} ({brief(tool, 20)}): {brief(said, 400)}</div>;
    }
    const pieces = starts && entry.from === 0 ? tokens(entry.text, starts[entry.line - 1] ?? false) : [["plain", entry.text] as const];
    return (
      <div key={at} class={`code-line${marked?.has(entry.line) ? " differs" : ""}`}>
        <span class="line-number" aria-hidden="true">{entry.from === 0 ? entry.line : ""}</span>
        {pieces.map(([kind, piece], place) => (kind === "plain" ? visible(piece) : <span key={place} class={`t-${kind}`}>{visible(piece)}</span>))}
        {entry.cut > 0 && <button type="button" class="plain" onClick={() => setWhole(new Set([...whole, entry.line]))}> … show {entry.cut.toLocaleString("en")} more characters</button>}
      </div>
    );
  };
  return <VirtualList class="code" label={label} count={shown.length} rowHeight={LINE} most={most} reveal={firstError > 15 ? firstError : null} render={render} />;
}

export function CodeFiles({ files, diagnostics = [], label, note, marked, most }: { files: Files; diagnostics?: Diagnostic[]; label: string; note?: string; marked?: (path: string) => Set<number>; most?: number }) {
  const shown = useMemo(() => designs(files), [files]);
  const paths = Object.keys(shown);
  const elsewhere = diagnostics.filter((one) => !paths.some((path) => isAbout(path, one, shown)));
  return (
    <div class="files">
      {paths.length === 0 && <p class="soft">No RTL was found in the answer.</p>}
      {paths.map((path) => {
        const text = shown[path] ?? "";
        const own = diagnostics.filter((one) => isAbout(path, one, shown));
        return (
          <div class="file" key={path}>
            <p class="file-name"><code>{brief(path, 120)}</code> <span class="soft">{note ?? plural(text.length, "character")}{own.length > 0 && `, ${plural(own.length, "diagnostic")}`}</span> <Copy text={text} what={brief(path, 60)} /></p>
            <Code text={text} label={`${label}: ${brief(path, 80)}`} diagnostics={own} marked={marked?.(path)} most={most} />
          </div>
        );
      })}
      {elsewhere.length > 0 && (
        <ul class="faults">{elsewhere.slice(0, 50).map((one, at) => <li key={at}><code>{brief(one.file, 80)}:{one.line}</code> {brief(one.severity, 12)} ({brief(one.tool, 20)}): {brief(one.text, 400)}</li>)}</ul>
      )}
    </div>
  );
}
