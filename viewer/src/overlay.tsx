// Curves of several runs over each other, seeds grouped, and what differs in their configuration.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { type Curve, Chart, isShare, Legend, meanOf, ordered, SmoothingNote } from "./chart";
import { load } from "./data";
import { route, runLink, set } from "./route";
import { asText, brief } from "./text";
import type { Run } from "./types";
import { Choice, Failure, Section } from "./ui";

/** `written` changes when one of the runs has a new step. */
export function Overlay({ ids, written }: { ids: string[]; written: string }) {
  const [runs, setRuns] = useState<Run[]>([]);
  const [error, setError] = useState<string | null>(null);
  const [tries, setTries] = useState(0);
  const key = ids.join(",");
  const first = useRef(written);
  useEffect(() => {
    let current = true;
    Promise.all(key.split(",").map((id) => load<Run>(`runs/${id}`, written !== first.current || tries > 0))).then(
      (loaded) => {
        if (!current) return;
        setRuns(loaded);
        setError(null);
      },
      (reason: Error) => current && setError(reason.message),
    );
    return () => {
      current = false;
    };
  }, [key, written, tries]);
  if (error !== null) return <Failure message={error} retry={() => setTries(tries + 1)} />;
  if (runs.length === 0) return <p class="loading" role="status">Loading the chosen runs…</p>;
  return (
    <>
      <Curves runs={runs} />
      <Differences runs={runs} />
    </>
  );
}

function Curves({ runs }: { runs: Run[] }) {
  const query = route.value.query;
  const metrics = useMemo(() => ordered([...new Set(runs.flatMap((run) => Object.keys(run.series ?? {})))]), [runs]);
  const wanted = query.get("metric");
  const metric = wanted && metrics.includes(wanted) ? wanted : (metrics[0] ?? "");
  const apart = query.get("seeds") === "apart";
  const curves = useMemo(() => overlay(runs, metric, apart), [runs, metric, apart]);
  if (metrics.length === 0) return <p class="soft">The chosen runs have no curves.</p>;
  return (
    <Section title="Curves">
      <div class="bar">
        <Choice label="Metric" value={metric} options={metrics.map((name) => ({ value: name, label: name }))} onChange={(value) => set({ metric: value })} />
        <label class="check"><input type="checkbox" checked={!apart} onChange={() => set({ seeds: apart ? null : "apart" })} /> seeds together (mean, band from lowest to highest)</label>
      </div>
      <Chart title={metric} curves={curves} height={300} share={isShare(metric)} />
      <Legend curves={curves} />
      <SmoothingNote curves={curves} />
    </Section>
  );
}

function overlay(runs: Run[], metric: string, apart: boolean): Curve[] {
  const points = (run: Run): [number, number | null][] => run.series?.[metric] ?? [];
  if (apart) return runs.filter((run) => points(run).length > 0).map((run, at) => ({ label: brief(run.name, 60), colour: at, points: points(run) }));
  const groups = grouped(runs);
  return [...groups.values()]
    .map((members) => members.filter((run) => points(run).length > 0))
    .filter((members) => members.length > 0)
    .map((members, at) => {
      members.sort((a, b) => (a.seed ?? 0) - (b.seed ?? 0));
      const name = brief(members[0]?.name, 60);
      if (members.length === 1) return { label: name, colour: at, points: points(members[0] as Run) };
      const seeds = members.map((run) => run.seed ?? "?").join(", ");
      return meanOf(`${name} and ${members.length - 1} more (seeds ${seeds})`, at, members.map(points));
    });
}

function grouped(runs: Run[]): Map<string, Run[]> {
  const groups = new Map<string, Run[]>();
  for (const run of runs) groups.set(run.group, [...(groups.get(run.group) ?? []), run]);
  return groups;
}

/** `{a: {b: 1}}` as `a.b`. */
export function flat(config: unknown, prefix = ""): [string, string][] {
  if (config === null || typeof config !== "object" || Array.isArray(config)) return [[prefix, asText(config)]];
  return Object.entries(config).flatMap(([key, value]) => flat(value, prefix ? `${prefix}.${key}` : key));
}

function Differences({ runs }: { runs: Run[] }) {
  if (runs.length < 2) return <p class="soft">Choose a second run to compare configurations.</p>;
  const configs = runs.map((run) => new Map(flat(run.config ?? {})));
  const keys = [...new Set(configs.flatMap((config) => [...config.keys()]))].sort();
  const differing = keys.filter((key) => new Set(configs.map((config) => config.get(key))).size > 1);
  return (
    <Section title="Configuration differences" aside={`${differing.length} of ${keys.length} settings differ`}>
      {differing.length === 0 ? <p class="soft">The configurations are the same.</p> : (
        <div class="scroll" tabIndex={0} role="region" aria-label="Table of configuration differences">
          <table>
            <thead><tr><th>Setting</th>{runs.map((run) => <th key={run.id}><a href={runLink(run.id)}>{brief(run.name, 60)}</a></th>)}</tr></thead>
            <tbody>
              {differing.map((key) => (
                <tr key={key}>
                  <th scope="row"><code>{brief(key, 80)}</code></th>
                  {configs.map((config, at) => <td key={runs[at]?.id}><code>{config.has(key) ? brief(config.get(key), 200) || '""' : "–"}</code></td>)}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Section>
  );
}
