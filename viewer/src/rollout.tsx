// One rollout: its verdict, and tabs for code, tokens, comparison, transcript, tests, waves and how to reproduce it.
import { useEffect, useMemo, useRef } from "preact/hooks";
import { CodeFiles } from "./code";
import { Compare } from "./compare";
import { bundled, load, useData } from "./data";
import { Heat } from "./heat";
import { Reproduce } from "./reproduce";
import { groupLink, rolloutLink, route, runLink, set } from "./route";
import type { Rows } from "./rows";
import { useFiltered, useRun } from "./run";
import { Tests } from "./tests";
import { asText, brief, number, plural } from "./text";
import { Transcript } from "./transcript";
import type { Rollout } from "./types";
import { LongText, Name, type Option, Outcome, Step, Tabs, Waiting } from "./ui";
import { WavesTab } from "./waves";

/** Where the keys lead from this rollout. */
export function neighbours(rows: Rows, list: number[], row: number) {
  const at = list.indexOf(row);
  const steps = rows.steps(row);
  const step = steps.findIndex((cell) => cell.group === rows.groupOf(row)?.group);
  const place = Math.max(0, steps[step]?.rows.indexOf(row) ?? 0);
  const to = (cell: { rows: number[] } | undefined): number | undefined => cell?.rows[Math.min(place, cell.rows.length - 1)];
  return {
    at, previous: at >= 0 ? list[at - 1] : undefined, next: at >= 0 ? list[at + 1] : list[0],
    earlier: step >= 0 ? to(steps[step - 1]) : undefined, later: step >= 0 ? to(steps[step + 1]) : undefined,
  };
}

function tabsOf(of: Rollout): Option[] {
  const compared = of.before || of.after || of.teacher || of.reference;
  return [
    { value: "rtl", label: "RTL" },
    ...(of.tokens && of.tokens.text.length > 0 ? [{ value: "tokens", label: "Tokens" }] : []),
    ...(compared ? [{ value: "compare", label: "Compare" }] : []),
    { value: "transcript", label: (of.turns?.length ?? 0) > 0 ? "Transcript" : "Answer" },
    { value: "tests", label: `Tests (${of.grade?.tests.length ?? 0})` },
    ...(bundled && !of.waves?.length ? [] : [{ value: "waves", label: "Waves" }]),
    { value: "reproduce", label: "Reproduce" },
  ];
}

export function RolloutScreen({ run, row }: { run: string; row: number }) {
  const { rows } = useRun(run);
  const { list } = useFiltered(run, rows);
  const data = useData<Rollout>(`runs/${run}/rollouts/${row}`);
  // The rollout before stays in sight until the next one is here.
  const last = useRef<Rollout | null>(null);
  if (data.value) last.current = data.value;
  const of = data.error === null ? (data.value ?? last.current) : null;
  const beside = useMemo(() => (rows ? neighbours(rows, list, row) : null), [rows, list, row]);
  const [before, after] = [beside?.previous, beside?.next];
  useEffect(() => {
    if (!data.value) return;
    for (const near of [after, before]) if (near !== undefined) void load(`runs/${run}/rollouts/${near}`).catch(() => undefined);
  }, [run, data.value, before, after]);
  const to = (row: number | undefined): string | null => (row === undefined ? null : rolloutLink(run, row));
  const bar = (
    <nav class="steps" aria-label="Rollouts">
      <a href={runLink(run, new URLSearchParams([...route.value.query].filter(([key]) => key !== "tab")))} class="up">List</a>
      <Step to={to(beside?.previous)} name="previous" spoken="previous rollout">←</Step>
      <span class="soft place">{beside && beside.at >= 0 ? `${number(beside.at + 1)} of ${number(list.length)}` : "–"}</span>
      <Step to={to(beside?.next)} name="next" spoken="next rollout">→</Step>
      <Step to={to(beside?.earlier)} name="earlier" spoken="earlier step">[ <span class="word">earlier step</span></Step>
      <Step to={to(beside?.later)} name="later" spoken="later step"><span class="word">later step</span> ]</Step>
    </nav>
  );
  if (!of) return <>{bar}<Waiting of={data} what="the rollout" title={`Rollout ${row}`} /></>;
  const shown = of.row;
  const tabs = tabsOf(of);
  const wanted = route.value.query.get("tab") ?? "rtl";
  const tab = tabs.some((one) => one.value === wanted) ? wanted : "rtl";
  return (
    <>
      {bar}
      <Verdict run={run} of={of} group={rows?.groupOf(shown)?.group ?? null} />
      <Tabs label="Parts of the rollout" tabs={tabs} active={tab} onChoose={(value) => set({ tab: value }, true)} />
      <div role="tabpanel" id="panel" aria-labelledby={`tab-${tab}`} aria-busy={data.value === null} class="panel">
        {tab === "rtl" && <Rtl of={of} />}
        {tab === "tokens" && of.tokens && <Heat key={shown} tokens={of.tokens} />}
        {tab === "compare" && <Compare run={run} of={of} />}
        {tab === "transcript" && <Transcript of={of} />}
        {tab === "tests" && <Tests of={of} />}
        {tab === "waves" && data.value && <WavesTab key={`${run} ${shown}`} run={run} of={of} />}
        {tab === "reproduce" && <Reproduce of={of} />}
      </div>
    </>
  );
}

const REASONS = 5;

/** Why the sampling ended; that the model came to its end is what is expected. */
function stopped(reason: string | null): string | null {
  if (!reason || reason === "stop") return null;
  return reason === "length" ? "cut off at the token limit" : `stopped: ${reason}`;
}

/** A list that is one too long for the room is shown whole: a word on what is left would take as much. */
const shownReasons = (reasons: string[]): string[] => (reasons.length > REASONS + 1 ? reasons.slice(0, REASONS) : reasons);

function Verdict({ run, of, group }: { run: string; of: Rollout; group: number | null }) {
  const outcome = of.lost ? "lost" : of.grade?.outcome;
  const parts = Object.entries(of.reward_parts ?? of.grade?.reward.parts ?? {});
  const reasons = of.grade?.reasons ?? [];
  const facts = [
    `${of.kind} ${of.step}`, of.family, of.level !== null && of.level !== undefined && `level ${asText(of.level)}`,
    of.tokens && plural(of.tokens.text.length, "token"), stopped(of.stop_reason), of.end_reason && `ended: ${of.end_reason}`,
  ].filter(Boolean).map((fact) => brief(String(fact), 80));
  return (
    <header class="verdict">
      <div>
        <h1><Name of={of.problem_id} /> <Outcome of={outcome} /></h1>
        <p class="soft">{facts.join(" · ")} {group !== null && <> · <a class="whole" href={groupLink(run, group)}>its group of {of.siblings.length || 1}</a></>}</p>
        <p>Reward <strong>{number(of.reward)}</strong>{parts.length > 0 && <span class="soft"> = {parts.map(([name, value]) => `${brief(name, 40)} ${number(value, 2)}`).join(" + ")}</span>}</p>
      </div>
      {reasons.length > 0 && (
        <ul class="faults" aria-label="Why">
          {shownReasons(reasons).map((reason, at) => <li key={at}>{brief(reason, 300)}</li>)}
          {reasons.length > shownReasons(reasons).length && <li class="soft">and {plural(reasons.length - REASONS, "more reason")}, in <button type="button" class="plain" onClick={() => set({ tab: "tests" }, true)}>Tests</button></li>}
        </ul>
      )}
      {of.lost ? <p class="notice">Lost: {brief(asText(of.lost), 400)}</p> : null}
    </header>
  );
}

function Rtl({ of }: { of: Rollout }) {
  const told = new Set(shownReasons(of.grade?.reasons ?? []));
  const differing = (of.interface ?? []).some((line) => !told.has(line)) ? of.interface ?? [] : []; // else the head of the page names them
  return (
    <div class="beside">
      <section>
        <h2>Specification</h2>
        <LongText text={of.specification ?? ""} label="Specification" />
      </section>
      <section>
        <h2>RTL</h2>
        {differing.length > 0 && <div class="notice"><strong>The interface differs:</strong><ul class="faults">{differing.slice(0, 40).map((line, at) => <li key={at}>{brief(line, 400)}</li>)}</ul></div>}
        <CodeFiles files={of.files} diagnostics={of.grade?.diagnostics ?? []} label="RTL" />
      </section>
    </div>
  );
}
