// A reply that was kept whole: its one block of code is what was graded, and what lines are counted in.
import type { Diagnostic, Files } from "./types";

export const REPLY = "answer";

const FENCE = /^[ \t]*(`{3,}|~{3,})[^\n]*$/gm;
const MOST = 2_100_000;

/** The text of the only block; null where there is none, or a choice. */
function onlyBlock(reply: string): string | null {
  if (reply.length > MOST) return null;
  const fences = [...reply.matchAll(FENCE)].slice(0, 3);
  const [open, close] = fences;
  if (!open || fences.length > 2) return null;
  const start = open.index + open[0].length + 1;
  return reply.slice(start, close ? close.index : reply.length);
}

/** The files as RTL: of a reply its only block. */
export function designs(files: Files): Files {
  const reply = files[REPLY];
  if (reply === undefined || Object.keys(files).length > 1) return files;
  const code = onlyBlock(reply);
  return code === null ? files : { [REPLY]: code };
}

/** Whether a diagnostic is about this file. A reply's block has the name that the problem gave it; /src is the harness's. */
export function isAbout(path: string, one: Diagnostic, files: Files): boolean {
  if (path === REPLY && Object.keys(files).length === 1) return !one.file.startsWith("/src/");
  return path === one.file || path.endsWith(`/${one.file}`) || one.file.endsWith(`/${path}`);
}

/** Pairs of files to compare: of the same name, or the only one of each side. */
export function matched(a: Files, b: Files): { path: string; a: string; b: string }[] {
  const [own, others] = [Object.keys(a), Object.keys(b)];
  const [mine, theirs] = [own[0], others[0]];
  if (own.length === 1 && others.length === 1 && mine !== undefined && theirs !== undefined) {
    return [{ path: mine === REPLY ? theirs : mine, a: a[mine] ?? "", b: b[theirs] ?? "" }];
  }
  return [...new Set([...own, ...others])].sort().map((path) => ({ path, a: a[path] ?? "", b: b[path] ?? "" }));
}
