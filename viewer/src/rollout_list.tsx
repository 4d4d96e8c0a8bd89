// The list of rollouts: rows of one height, so that ten thousand scroll smoothly.
import { useEffect, useState } from "preact/hooks";
import { rolloutLinks, route, set } from "./route";
import type { Rows } from "./rows";
import { brief, number } from "./text";
import { Outcome } from "./ui";
import { VirtualList } from "./virtual";

const COLUMNS: { key: string; label: string; number?: boolean }[] = [
  { key: "step", label: "Step" }, { key: "problem", label: "Problem" }, { key: "outcome", label: "Outcome" },
  { key: "tests_passed", label: "Tests", number: true }, { key: "reward", label: "Reward", number: true }, { key: "kl_mean", label: "KL", number: true },
  { key: "tokens", label: "Tokens", number: true }, { key: "reason", label: "Reason" },
];

export function useNarrow(): boolean {
  const [narrow, setNarrow] = useState(matchMedia("(max-width: 46rem)").matches);
  useEffect(() => {
    const media = matchMedia("(max-width: 46rem)");
    const change = (): void => setNarrow(media.matches);
    media.addEventListener("change", change);
    return () => media.removeEventListener("change", change);
  }, []);
  return narrow;
}

export function RolloutList({ run, rows, list }: { run: string; rows: Rows; list: number[] }) {
  const narrow = useNarrow();
  const sort = route.value.query.get("sort") ?? "";
  if (list.length === 0) return <p class="soft">No rollout matches the filters.</p>;
  const head = (
    <div role="rowgroup" class="list-head">
      <div role="row" class="list-row">
        {COLUMNS.map(({ key, label }) => (
          <span key={key} role="columnheader" class={`cell ${key === "step" ? "step-of" : key}`} aria-sort={sort === key ? "ascending" : sort === `-${key}` ? "descending" : "none"}>
            <button type="button" class="plain" onClick={() => set({ sort: sort === `-${key}` ? key : sort === key ? null : `-${key}` })}>
              {label}{sort === key ? " ▲" : sort === `-${key}` ? " ▼" : ""}
            </button>
          </span>
        ))}
      </div>
    </div>
  );
  const { columns } = rows.data;
  const links = rolloutLinks(run);
  const line = (at: number) => {
    const row = list[at] ?? 0;
    const kind = rows.text("kind", row);
    return (
      <div role="row" aria-rowindex={at + 1} class="list-row" key={row}>
        <span role="cell" class="cell step-of"><a href={links.group(columns.group[row] ?? 0)} title="Open its group">{kind === "step" ? "" : `${brief(kind, 10)} `}{columns.step[row]}</a></span>
        <span role="cell" class="cell problem"><a href={links.rollout(row)} title={brief(rows.text("problem", row), 200)}><span class="sample">#{columns.sample[row] ?? row}</span> {brief(rows.short(rows.text("problem", row)), 80)}</a></span>
        <span role="cell" class="cell outcome-cell"><Outcome of={rows.text("outcome", row)} /></span>
        <span role="cell" class="cell tests_passed">{columns.tests_passed[row] ?? 0}/{columns.tests[row] ?? 0}</span>
        <span role="cell" class="cell reward">{number(columns.reward[row], 2)}</span>
        <span role="cell" class="cell kl_mean">{number(columns.kl_mean[row], 2)}</span>
        <span role="cell" class="cell tokens">{number(columns.tokens[row])}</span>
        <span role="cell" class="cell reason" title={brief(rows.text("reason", row), 130)}>{brief(rows.text("reason", row), 130)}</span>
      </div>
    );
  };
  return <VirtualList class="rollouts" role="table" label="Rollouts" count={list.length} rowHeight={narrow ? 58 : 30} most={460} head={head} render={line} />;
}
