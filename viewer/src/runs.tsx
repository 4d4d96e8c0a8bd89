// The list of runs, and the overlay of those that are chosen.
import { useEffect, useMemo, useState } from "preact/hooks";
import { load, useClock, useData } from "./data";
import { Overlay } from "./overlay";
import { route, runLink, set } from "./route";
import { ago, brief, number, percent, plural, when } from "./text";
import type { RunList, RunSummary } from "./types";
import { Failure, Name, Waiting } from "./ui";

export function Runs() {
  const [someRunning, setRunning] = useState(false);
  const list = useData<RunList>("runs", useClock(someRunning ? 5 : 15));
  const runs = list.value?.runs;
  useEffect(() => setRunning(runs?.some((run) => run.running) ?? false), [runs]);
  if (!runs || !list.value) return <Waiting of={list} what="the runs" title="Runs" />;
  const leftOut = list.value.left_out ?? [];
  return (
    <>
      {list.error !== null && <Failure message={list.error} retry={list.retry} />}
      {runs.length === 0 ? <Nothing root={list.value.root} /> : <List runs={runs} root={list.value.root} />}
      {leftOut.length > 0 && <details><summary>{plural(leftOut.length, "folder")} could not be read as a run</summary><ul class="faults">{leftOut.slice(0, 50).map((why, at) => <li key={at}>{brief(why, 300)}</li>)}</ul></details>}
    </>
  );
}

function Nothing({ root }: { root: string }) {
  return (
    <div class="empty">
      <h1>No runs yet</h1>
      <p>There is no run in <code>{brief(root)}</code>.</p>
      <p><code>rtl-agent demo</code> makes a small one in a few minutes; <code>rtl-agent train</code> makes a real one. Then open this page again.</p>
    </div>
  );
}

const AT_ONCE = 200;

function List({ runs, root }: { runs: RunSummary[]; root: string }) {
  const chosenText = route.value.query.get("sel") ?? "";
  const search = (route.value.query.get("q") ?? "").toLowerCase();
  const chosen = useMemo(() => chosenText.split(",").filter((id) => runs.some((run) => run.id === id)), [chosenText, runs]);
  const sorted = useMemo(() => newestFirst(runs), [runs]);
  const shown = sorted.filter((run) => !search || [run.name, run.student, run.teacher, run.mode, run.path].some((text) => text?.toLowerCase().includes(search)));
  const [most, setMost] = useState(AT_ONCE);
  const seeds = useMemo(() => bySeeds(runs), [runs]);
  const toggle = (ids: string[], on: boolean): void => {
    const next = on ? [...new Set([...chosen, ...ids])] : chosen.filter((id) => !ids.includes(id));
    set({ sel: next.join(",") });
  };
  return (
    <>
      <h1>Runs</h1>
      <p class="soft">{plural(runs.length, "run")} in <code>{brief(root)}</code>. Choose several to lay their curves over each other.</p>
      <div class="bar">
        <label class="choice grow">
          <span class="unseen">Search runs</span>
          <input type="search" id="search" placeholder="Search runs ( / )" value={route.value.query.get("q") ?? ""} onInput={(event) => set({ q: event.currentTarget.value }, true)} />
        </label>
        {chosen.length > 0 && <button type="button" onClick={() => set({ sel: null })}>Choose none</button>}
      </div>
      <div class={`scroll${chosen.length > 0 ? " short" : ""}`} tabIndex={0} role="region" aria-label="Table of runs">
        <table class="runs">
          <thead>
            <tr>
              <th><span class="unseen">Chosen</span></th><th>Run</th><th class="wide">Student</th><th class="wide">Teacher</th><th class="wide">Mode</th><th class="number">Seed</th>
              <th class="number">Steps</th><th class="number">Rollouts</th><th class="number">Pass rate</th><th class="number">Reward</th><th class="number">Teacher KL</th><th>Written</th>
            </tr>
          </thead>
          <tbody>
            {shown.slice(0, most).map((run) => <Line key={run.id} run={run} chosen={chosen.includes(run.id)} seeds={seeds.get(configuration(run)) ?? []} toggle={toggle} />)}
          </tbody>
        </table>
      </div>
      {shown.length > most && <button type="button" onClick={() => setMost(most + AT_ONCE)}>Show more ({plural(shown.length - most, "run")})</button>}
      {shown.length === 0 && <p class="soft">No run matches the search.</p>}
      {chosen.length > 0 && <Overlay ids={chosen} written={runs.filter((run) => chosen.includes(run.id)).map((run) => run.written ?? 0).join()} />}
    </>
  );
}

const configuration = (run: RunSummary): string => `${run.kind} ${run.group}`;

/** The runs of each configuration. */
function bySeeds(runs: RunSummary[]): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const run of runs) {
    const ids = found.get(configuration(run));
    if (ids) ids.push(run.id);
    else found.set(configuration(run), [run.id]);
  }
  return found;
}

/** The newest first; seeds of one configuration stay together, at the place of their newest. */
function newestFirst(runs: RunSummary[]): RunSummary[] {
  const newest = new Map<string, number>();
  const key = configuration;
  for (const run of runs) newest.set(key(run), Math.max(newest.get(key(run)) ?? 0, run.written ?? 0));
  return [...runs].sort((a, b) =>
    (newest.get(key(b)) ?? 0) - (newest.get(key(a)) ?? 0) || (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0) || (a.seed ?? 0) - (b.seed ?? 0) || (a.name < b.name ? -1 : 1));
}

interface LineProps {
  run: RunSummary;
  chosen: boolean;
  seeds: string[];
  toggle: (ids: string[], on: boolean) => void;
}

function Line({ run, chosen, seeds, toggle }: LineProps) {
  const name = brief(run.name, 120);
  return (
    <tr class={chosen ? "chosen" : ""}>
      <td><input type="checkbox" aria-label={`Choose ${name}`} checked={chosen} onChange={(event) => toggle([run.id], event.currentTarget.checked)} /></td>
      <th scope="row" class="name">
        <a href={runLink(run.id)} onPointerEnter={() => void load(`runs/${run.id}`).catch(() => undefined)}>{name}</a>
        {run.kind === "eval" && <span class="tag">evaluation</span>}
        {run.running && <span class="tag live">running</span>}
        {seeds.length > 1 && <button type="button" class="plain" onClick={() => toggle(seeds, !chosen)}>{chosen ? "drop" : "choose"} all {seeds.length} seeds</button>}
      </th>
      <td class="wide"><Name of={run.student || "–"} most={60} /></td>
      <td class="wide"><Name of={run.teacher || "–"} most={60} /></td>
      <td class="wide">{brief(run.mode, 30) || "–"}</td>
      <td class="number">{run.seed ?? "–"}</td>
      <td class="number">{run.kind === "eval" ? "–" : number(run.steps)}</td>
      <td class="number">{number(run.rollouts)}</td>
      <td class="number">{percent(run.headline?.pass_rate)}</td>
      <td class="number">{number(run.headline?.reward)}</td>
      <td class="number">{number(run.headline?.teacher_kl)}</td>
      <td class="date">{run.written === null ? "–" : <time dateTime={new Date(run.written * 1000).toISOString()} title={`${when(run.written)} UTC`}>{ago(run.written)}</time>}</td>
    </tr>
  );
}
