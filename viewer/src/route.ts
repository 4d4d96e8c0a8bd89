// The address holds the whole state: `#/run/ID/rollout/N?tab=waves&outcome=failed`.
import { signal } from "@preact/signals";

export interface Route {
  screen: "runs" | "run" | "group" | "rollout";
  run: string;
  number: number;
  query: URLSearchParams;
}

export const FILTERS = ["kind", "family", "category", "difficulty", "outcome", "reason", "problem", "signal", "q", "texts", "sort"];

function parse(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const parts = path.split("/").map((part) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  });
  const route: Route = { screen: "runs", run: "", number: 0, query: new URLSearchParams(query) };
  if (parts[0] !== "run" || !parts[1]) return route;
  route.run = parts[1];
  route.screen = "run";
  const number = Number(parts[3]);
  if ((parts[2] === "group" || parts[2] === "rollout") && Number.isInteger(number) && number >= 0) {
    route.screen = parts[2];
    route.number = number;
  }
  return route;
}

export const route = signal<Route>(parse(location.hash));
window.addEventListener("hashchange", () => {
  const before = route.value;
  route.value = parse(location.hash);
  if (before.screen !== route.value.screen || before.run !== route.value.run) window.scrollTo(0, 0);
});

type Query = Record<string, string | number | null | undefined>;

export function link(path: string, query: Query | URLSearchParams = {}): string {
  const search = query instanceof URLSearchParams ? query : new URLSearchParams();
  if (!(query instanceof URLSearchParams)) {
    for (const [key, value] of Object.entries(query)) if (value !== null && value !== undefined && value !== "") search.set(key, String(value));
  }
  const text = search.toString();
  return `#/${path}${text ? `?${text}` : ""}`;
}

/** The present filters, to carry along to a rollout so that left and right go through the same list. */
export function filters(query: URLSearchParams = route.value.query): URLSearchParams {
  return new URLSearchParams([...query].filter(([key]) => FILTERS.includes(key)));
}

/** Links to many rollouts at once: what they have in common is put together once. */
export function rolloutLinks(run: string): { rollout: (row: number) => string; group: (group: number) => string } {
  const text = filters().toString();
  const [start, end] = [`#/run/${encodeURIComponent(run)}`, text ? `?${text}` : ""];
  return { rollout: (row) => `${start}/rollout/${row}${end}`, group: (group) => `${start}/group/${group}${end}` };
}

export function rolloutLink(run: string, row: number, more: Query = {}): string {
  const query = filters();
  for (const kept of ["tab", "heat"]) {
    const value = route.value.query.get(kept);
    if (value && route.value.screen === "rollout") query.set(kept, value);
  }
  for (const [key, value] of Object.entries(more)) if (value !== null && value !== undefined) query.set(key, String(value));
  return link(`run/${encodeURIComponent(run)}/rollout/${row}`, query);
}

export const groupLink = (run: string, group: number): string => link(`run/${encodeURIComponent(run)}/group/${group}`, filters());
export const runLink = (run: string, query: Query | URLSearchParams = {}): string => link(`run/${encodeURIComponent(run)}`, query);

export function go(hash: string, replace = false): void {
  if (replace) {
    history.replaceState(null, "", hash);
    route.value = parse(hash);
  } else location.hash = hash;
}

/** Changes some of the query and stays on the screen; typing replaces the entry, choosing adds one to the history. */
export function set(changes: Query, replace = false): void {
  const query = new URLSearchParams(route.value.query);
  for (const [key, value] of Object.entries(changes)) {
    if (value === null || value === undefined || value === "") query.delete(key);
    else query.set(key, String(value));
  }
  const path = location.hash.replace(/^#\/?/, "").split("?", 1)[0] ?? "";
  go(link(path, query), replace);
}
