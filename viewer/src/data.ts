// Reads the data: by fetch from the server, or from a bundle's files by script tags (fetch does not work on file://).
import { useCallback, useEffect, useState } from "preact/hooks";
import { wellFormed } from "./text";

declare global {
  interface Window {
    rtlAgentData?: (path: string, text: string) => void;
  }
}

export const bundled =
  document.querySelector('meta[name="rtl-agent-mode"]')?.getAttribute("content") === "bundle";

const KEPT = 200;
const KEPT_SCRIPTS = 6;
const loaded = new Map<string, Promise<unknown>>();
// What is asked again and again: an answer that has not changed stays the same object, and nothing is drawn anew.
const answered = new Map<string, { text: string; value: unknown }>();
const MOST_ANSWERED = 20;

// A bundle's scripts bring texts of JSON, many rollouts in one; a text is parsed when it is wanted.
const scripts = new Map<string, Map<string, string>>();
let arriving = new Map<string, string>();

window.rtlAgentData = (path, text) => {
  arriving.set(path, text);
};

function script(file: string): Promise<Map<string, string>> {
  const known = scripts.get(file);
  if (known) return Promise.resolve(known);
  return new Promise((resolve, reject) => {
    const tag = document.createElement("script");
    tag.src = `data/${file}.js`;
    // A script runs right before its load event, so what has arrived is its own.
    tag.onload = () => {
      tag.remove();
      const texts = arriving;
      arriving = new Map();
      scripts.set(file, texts);
      if (scripts.size > KEPT_SCRIPTS) scripts.delete(scripts.keys().next().value as string);
      resolve(texts);
    };
    tag.onerror = () => {
      tag.remove();
      reject(new Error(`The bundle has no data/${file}.js.`));
    };
    document.head.append(tag);
  });
}

/** The script that holds a path: rollouts and groups are packed, and `packs` says with which one each pack begins. */
async function fileOf(path: string): Promise<string> {
  const [, run, kind, number] = /^(runs\/[^/]+)\/(rollouts|groups)\/(\d+)(?:\/waves)?$/.exec(path) ?? [];
  if (!run) return path;
  const first = (await load<Record<string, number[]>>(`${run}/packs`))[kind ?? ""] ?? [];
  return `${run}/pack-${Math.max(0, first.filter((one) => one <= Number(number)).length - 1)}`;
}

async function fromBundle(path: string): Promise<unknown> {
  const [place = "", query = ""] = path.split("?", 2);
  const file = await fileOf(place);
  const text = (await script(file)).get(place);
  if (text === undefined) throw new Error(`The bundle's file data/${file}.js does not hold ${place}.`);
  const value: unknown = JSON.parse(text);
  const error = (value as { error?: unknown } | null)?.error;
  if (typeof error === "string") throw new Error(error);
  return query ? ofTest(value, new URLSearchParams(query)) : value;
}

/** A bundle holds the waves of all tests of a rollout together. */
function ofTest(value: unknown, query: URLSearchParams): unknown {
  const tests = (value as { tests: Record<string, unknown>[] }).tests;
  const which = query.get("of") === "reference" ? "reference" : "candidate";
  return tests.find((one) => wellFormed(String(one["test"])) === query.get("test"))?.[which] ?? { status: "error", message: "There are no waves of it." };
}

async function fromServer(path: string, again: boolean): Promise<unknown> {
  let answer: Response;
  try {
    answer = await fetch(`api/${path}`, { headers: { Accept: "application/json" } });
  } catch {
    throw new Error("The server does not answer. Is `rtl-agent view` still running?");
  }
  const text = await answer.text();
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Error(`The server answered ${answer.status} without JSON.`);
  }
  if (!answer.ok) {
    const said = (value as { error?: unknown; message?: unknown } | null) ?? {};
    const sentence = said.error ?? said.message;
    throw new Error(typeof sentence === "string" ? sentence : `The server answered ${answer.status}.`);
  }
  if (!again) return value;
  const before = answered.get(path);
  if (before?.text === text) return before.value;
  answered.delete(path);
  answered.set(path, { text, value });
  if (answered.size > MOST_ANSWERED) answered.delete(answered.keys().next().value as string);
  return value;
}

export function load<T>(path: string, fresh = false): Promise<T> {
  const known = fresh ? undefined : loaded.get(path);
  if (known) return known as Promise<T>;
  const promise = bundled ? fromBundle(path) : fromServer(path, fresh);
  loaded.delete(path);
  loaded.set(path, promise);
  promise.catch(() => {
    if (loaded.get(path) === promise) loaded.delete(path);
  });
  if (loaded.size > KEPT) loaded.delete(loaded.keys().next().value as string);
  return promise as Promise<T>;
}

/** Counts up every so many seconds while the page is in sight: what is being written is asked for again. */
export function useClock(seconds: number): number {
  const [ticks, setTicks] = useState(0);
  useEffect(() => {
    if (bundled) return;
    const timer = setInterval(() => {
      if (!document.hidden) setTicks((count) => count + 1);
    }, 1000 * seconds);
    return () => clearInterval(timer);
  }, [seconds]);
  return ticks;
}

export interface Loaded<T> {
  value: T | null;
  error: string | null;
  retry: () => void;
}

/** `version` loads the same path again; meanwhile the older value stays on the page. */
export function useData<T>(path: string | null, version: number = 0): Loaded<T> {
  const [state, setState] = useState<{ path: string | null; value: T | null; error: string | null }>({
    path: null, value: null, error: null,
  });
  const [tries, setTries] = useState(0);
  useEffect(() => {
    if (path === null) return;
    let current = true;
    load<T>(path, version > 0 || tries > 0).then(
      (value) => current && setState({ path, value, error: null }),
      (error: Error) => current && setState((old) => ({ path, value: old.path === path ? old.value : null, error: error.message })),
    );
    return () => {
      current = false;
    };
  }, [path, version, tries]);
  const retry = useCallback(() => setTries((count) => count + 1), []);
  return state.path === path ? { value: state.value, error: state.error, retry } : { value: null, error: null, retry };
}
