// Reads the data: by fetch from the server, or from a bundle's files by script tags (fetch does not work on file://).
import { useCallback, useEffect, useState } from "preact/hooks";

declare global {
  interface Window {
    rtlAgentData?: (path: string, value: unknown) => void;
  }
}

export const bundled =
  document.querySelector('meta[name="rtl-agent-mode"]')?.getAttribute("content") === "bundle";

const KEPT = 200;
const loaded = new Map<string, Promise<unknown>>();
const arriving = new Map<string, (value: unknown) => void>();

window.rtlAgentData = (path, value) => {
  arriving.get(path)?.(value);
  arriving.delete(path);
};

function fromScript(path: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const tag = document.createElement("script");
    arriving.set(path, resolve);
    tag.src = `data/${path}.js`;
    tag.onload = () => {
      tag.remove();
      if (arriving.delete(path)) reject(new Error(`The bundle's file data/${path}.js holds something else.`));
    };
    tag.onerror = () => {
      tag.remove();
      arriving.delete(path);
      reject(new Error(`The bundle has no data/${path}.js.`));
    };
    document.head.append(tag);
  });
}

async function fromServer(path: string): Promise<unknown> {
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
  return value;
}

export function load<T>(path: string, fresh = false): Promise<T> {
  const known = fresh ? undefined : loaded.get(path);
  if (known) return known as Promise<T>;
  const promise = bundled ? fromScript(path) : fromServer(path);
  loaded.delete(path);
  loaded.set(path, promise);
  promise.catch(() => {
    if (loaded.get(path) === promise) loaded.delete(path);
  });
  if (loaded.size > KEPT) loaded.delete(loaded.keys().next().value as string);
  return promise as Promise<T>;
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
