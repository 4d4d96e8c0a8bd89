// The curves of one run: what is asked first as four charts, and every metric by its name.
import { useMemo, useState } from "preact/hooks";
import { Chart, type Curve, isShare, ordered, SmoothingNote } from "./chart";
import { route, set } from "./route";
import { brief, plural } from "./text";
import type { Num, Run } from "./types";
import { Section } from "./ui";

interface Panel {
  title: string;
  share: boolean;
  lines: [string, string[]][];
}

// For each line the first metric that the run has: pass rates were called tests_passed where a problem has one test.
const PANELS: Panel[] = [
  {
    title: "Pass rate", share: true,
    lines: [
      ["training", ["env/all/pass_rate", "env/all/tests_passed"]], ["held out", ["test/env/all/pass_rate", "test/env/all/tests_passed"]],
      ["new families", ["new/env/all/pass_rate", "new/env/all/tests_passed"]],
    ],
  },
  { title: "Reward", share: false, lines: [["training", ["env/all/reward/total"]], ["held out", ["test/env/all/reward/total"]], ["new families", ["new/env/all/reward/total"]]] },
  { title: "KL to the teacher", share: false, lines: [["training", ["teacher_kl"]]] },
  { title: "Groups without signal", share: true, lines: [["training", ["groups/no_signal"]]] },
  { title: "Entropy of the student", share: false, lines: [["training", ["optim/entropy"]]] },
];
const AT_FIRST = 4;
const AT_ONCE = 24;
const DASHES = [undefined, [7, 4], [2, 3]];

interface Drawn {
  title: string;
  share: boolean;
  curves: Curve[];
}

const known = (points: [number, Num][] | undefined): points is [number, Num][] => points?.some(([, value]) => value !== null) ?? false;

function panels(series: Run["series"]): Drawn[] {
  const drawn = PANELS.map(({ title, share, lines }) => ({
    title, share,
    curves: lines.flatMap(([label, names], at): Curve[] => {
      const metric = names.find((name) => known(series[name]));
      return metric ? [{ label, colour: at, dash: DASHES[at], points: series[metric] ?? [] }] : [];
    }),
  })).filter(({ curves }) => curves.length > 0).slice(0, AT_FIRST);
  return drawn;
}

export function Curves({ run }: { run: Run }) {
  const query = route.value.query;
  const all = query.get("curves") === "all";
  const wanted = (query.get("metrics") ?? "").toLowerCase();
  const [most, setMost] = useState(AT_ONCE);
  const metrics = useMemo(() => ordered(Object.keys(run.series ?? {}).filter((metric) => known(run.series[metric]))), [run.series]);
  const first = useMemo(() => {
    const made = panels(run.series ?? {});
    return made.length > 1 ? made : metrics.slice(0, AT_FIRST).map((metric) => single(metric, run.series[metric]));
  }, [run.series, metrics]);
  const matching = useMemo(() => metrics.filter((metric) => metric.toLowerCase().includes(wanted)), [metrics, wanted]);
  const each = useMemo(() => (all ? matching.slice(0, most).map((metric) => single(metric, run.series[metric])) : []), [all, matching, most, run.series]);
  if (metrics.length === 0) return null;
  return (
    <Section title="Curves" tools={<button type="button" aria-expanded={all} onClick={() => set({ curves: all ? null : "all", metrics: null })}>{all ? "Only the main curves" : `All ${plural(metrics.length, "metric")}`}</button>}>
      <div class="charts">{first.map(({ title, share, curves }) => <Chart key={title} title={brief(title, 80)} curves={curves} share={share} height={150} legend />)}</div>
      <SmoothingNote curves={first.flatMap(({ curves }) => curves)} />
      {all && (
        <div class="bar">
          <label class="choice grow">
            <span class="unseen">Search metrics</span>
            <input type="search" placeholder="Search metrics" value={query.get("metrics") ?? ""} onInput={(event) => set({ metrics: event.currentTarget.value }, true)} />
          </label>
        </div>
      )}
      {all && <div class="charts">{each.map(({ title, curves, share }) => <Chart key={title} title={brief(title, 80)} curves={curves} share={share} height={130} />)}</div>}
      {all && matching.length === 0 && <p class="soft">No metric has this in its name.</p>}
      {all && matching.length > most && <button type="button" onClick={() => setMost(most + AT_ONCE)}>Show more ({plural(matching.length - most, "metric")})</button>}
    </Section>
  );
}

function single(metric: string, points: [number, Num][] | undefined): Drawn {
  return { title: metric, share: isShare(metric), curves: [{ label: metric, colour: 0, points: points ?? [] }] };
}
