// One group: which rollout passes which test, and two of its rollouts as a diff.
import { useMemo } from "preact/hooks";
import { DiffFiles } from "./diff";
import { useData } from "./data";
import { filters, groupLink, rolloutLink, route, runLink, set } from "./route";
import { type Rows, TRAINING } from "./rows";
import { useFiltered, useRun } from "./run";
import { brief, number, plural } from "./text";
import type { Group } from "./types";
import { Choice, Name, Outcome, Section, Step, Waiting } from "./ui";

/** The worst failing and the best passing one: what was wrong is red at the left, what is right is green. */
function defaults(group: Group): [number, number] {
  const order = group.rows.map((_, at) => at).sort((a, b) => worth(group, b) - worth(group, a));
  return [order[order.length - 1] ?? 0, order[0] ?? 0];
}

function worth(group: Group, at: number): number {
  return (group.outcomes[at] === "passed" ? 1e6 : 0) + (group.rewards[at] ?? -1e3) + (group.results[at] ?? []).filter(Boolean).length / 1e3;
}

const MARK = new Map<boolean | null | undefined, [string, string, string]>([
  [true, ["✓", "pass", "passed"]], [false, ["✗", "fail", "failed"]], [null, ["–", "skip", "not run"]], [undefined, ["–", "skip", "not run"]],
]);

/** Where the keys lead from this group: along the list as it is filtered and sorted, and along the steps of its problem. */
function neighbours(rows: Rows, list: number[], group: number) {
  const groups = [...new Set(list.map((row) => rows.data.columns.group[row] ?? -1))];
  const at = groups.indexOf(group);
  const first = rows.groups.get(group)?.rows[0];
  const steps = first === undefined ? [] : rows.steps(first);
  const step = steps.findIndex((cell) => cell.group === group);
  return {
    at, count: groups.length, previous: at > 0 ? groups[at - 1] : undefined, next: at >= 0 ? groups[at + 1] : groups[0],
    earlier: step > 0 ? steps[step - 1]?.group : undefined, later: step >= 0 ? steps[step + 1]?.group : undefined,
  };
}

function Steps({ run, rows, group }: { run: string; rows: Rows | null; group: number }) {
  const { list } = useFiltered(run, rows);
  const beside = useMemo(() => (rows ? neighbours(rows, list, group) : null), [rows, list, group]);
  const to = (other: number | undefined): string | null => (other === undefined ? null : groupLink(run, other));
  return (
    <nav class="steps" aria-label="Groups">
      <a href={runLink(run, filters())} class="up">List</a>
      <Step to={to(beside?.previous)} name="previous" spoken="previous group">←</Step>
      <span class="soft place">{beside && beside.at >= 0 ? `${number(beside.at + 1)} of ${number(beside.count)}` : "–"}</span>
      <Step to={to(beside?.next)} name="next" spoken="next group">→</Step>
      <Step to={to(beside?.earlier)} name="earlier" spoken="earlier step">[ <span class="word">earlier step</span></Step>
      <Step to={to(beside?.later)} name="later" spoken="later step"><span class="word">later step</span> ]</Step>
    </nav>
  );
}

export function GroupScreen({ run, number: id }: { run: string; number: number }) {
  const { run: of, rows } = useRun(run);
  const data = useData<Group>(`runs/${run}/groups/${id}`);
  const group = data.value;
  if (!group) return <><Steps run={run} rows={rows} group={id} /><Waiting of={data} what="the group" title={`Group ${id}`} /></>;
  const cell = rows?.groups.get(id);
  const query = route.value.query;
  const [worst, best] = defaults(group);
  const place = (key: string, otherwise: number): number => {
    const at = query.has(key) ? group.rows.indexOf(Number(query.get(key))) : -1;
    return at >= 0 ? at : otherwise;
  };
  const [a, b] = [place("a", worst), place("b", best)];
  const name = (at: number): string => `#${at} ${group.outcomes[at] ?? ""}, reward ${number(group.rewards[at], 2)}`;
  const options = group.rows.map((row, at) => ({ value: String(row), label: name(at) }));
  const flat = cell?.kind === TRAINING && group.rewards.length > 1 && group.rewards.every((reward) => reward === group.rewards[0]);
  return (
    <>
      <Steps run={run} rows={rows} group={id} />
      <h1><Name of={cell?.problem ?? `Group ${id}`} /></h1>
      <p class="soft">{cell ? `${brief(cell.kind, 20)} ${cell.step} · ` : ""}{plural(group.rows.length, "rollout")}, {group.outcomes.filter((outcome) => outcome === "passed").length} passed · {brief(of.value?.name, 80)}</p>
      {flat && <p class="notice">No signal: all rewards are equal, so this group teaches nothing by reward.</p>}
      <Section title="Rollout × test">
        <div class="scroll" tabIndex={0} role="region" aria-label="Rollout by test">
          <table class="tests-matrix">
            <thead><tr><th>Rollout</th><th>Outcome</th><th class="number">Reward</th>{group.tests.map((test, at) => <th key={at} class="test"><span title={brief(test, 200)}><Name of={test} most={60} /></span></th>)}</tr></thead>
            <tbody>
              {group.rows.map((row, at) => (
                <tr key={row}>
                  <th scope="row"><a href={rolloutLink(run, row)}>#{at}</a></th>
                  <td><Outcome of={group.outcomes[at]} /></td>
                  <td class="number">{number(group.rewards[at], 2)}</td>
                  {group.tests.map((test, column) => {
                    const [sign, style, word] = MARK.get(group.results[at]?.[column]) ?? ["–", "skip", "not run"];
                    return <td key={column} class={`mark ${style}`} title={`${brief(test, 80)}: ${word}`}><span aria-hidden="true">{sign}</span><span class="unseen">{word}</span></td>;
                  })}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
        {group.tests.length === 0 && <p class="soft">No test was run on any of them.</p>}
      </Section>
      {group.rows.length > 1 && (
        <Section title="Difference of two rollouts">
          <div class="bar">
            <Choice label="Left" value={String(group.rows[a])} options={options} onChange={(value) => set({ a: value })} />
            <Choice label="Right" value={String(group.rows[b])} options={options} onChange={(value) => set({ b: value })} />
          </div>
          <DiffFiles a={group.files[a] ?? {}} b={group.files[b] ?? {}} names={[name(a), name(b)]} />
        </Section>
      )}
    </>
  );
}
