// One run: its curves, the problem x step matrix, filters and the list of rollouts; follows a run that is being written.
import { useEffect, useMemo, useState } from "preact/hooks";
import { Curves } from "./curves";
import { bundled, load, useClock, useData } from "./data";
import { Filters } from "./filters";
import { Matrix } from "./matrix";
import { flat } from "./overlay";
import { Criteria, Exam } from "./exam";
import { RolloutList } from "./rollout_list";
import { route } from "./route";
import { Rows } from "./rows";
import { ago, brief, number, percent, plural } from "./text";
import type { IndexData, Run } from "./types";
import { Copy, Section, Waiting } from "./ui";

/** The run and its rows; asks for new steps, every 2 s while the run is being written. */
export function useRun(id: string) {
  const [running, setRunning] = useState(false);
  const run = useData<Run>(`runs/${id}`, useClock(running ? 2 : 15));
  const [generation, setGeneration] = useState(0);
  const index = useData<IndexData>(`runs/${id}/index`, generation);
  useEffect(() => setRunning(run.value?.running ?? false), [run.value]);
  const newest = run.value?.generation;
  const have = index.value?.generation;
  useEffect(() => {
    if (newest !== undefined && have !== undefined && newest !== have && !bundled) setGeneration((count) => count + 1);
  }, [newest, have]);
  const rows = useMemo(() => (index.value ? new Rows(index.value) : null), [index.value]);
  return { run, index, rows };
}

/** The rows of the list: the index answers at once, the server adds those whose texts hold the words. */
export function useFiltered(id: string, rows: Rows | null) {
  const query = route.value.query;
  const texts = !bundled && query.get("texts") === "1" ? (query.get("q") ?? "").trim() : "";
  const [found, setFound] = useState<{ q: string; rows: Set<number>; truncated: boolean; error: string | null }>({ q: "", rows: new Set(), truncated: false, error: null });
  useEffect(() => {
    if (texts.length < 2) return;
    let current = true;
    const timer = setTimeout(() => {
      load<{ rows: number[]; truncated: boolean }>(`runs/${id}/search?q=${encodeURIComponent(texts)}`).then(
        (answer) => current && setFound({ q: texts, rows: new Set(answer.rows), truncated: answer.truncated, error: null }),
        (error: Error) => current && setFound({ q: texts, rows: new Set(), truncated: false, error: error.message }),
      );
    }, 250);
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [id, texts]);
  const key = query.toString();
  const list = useMemo(() => rows?.filter(query, found.q === texts && texts ? found.rows : null) ?? [], [rows, key, found, texts]);
  const note = texts.length < 2 ? "" : found.q !== texts ? "Searching the texts…" : (found.error ?? (found.truncated ? "The search in texts was cut short: narrow it." : ""));
  return { list, note };
}

export function RunScreen({ id }: { id: string }) {
  const { run, index, rows } = useRun(id);
  const { list, note } = useFiltered(id, rows);
  if (!run.value) return <Waiting of={run} what="the run" title={id} />;
  const of = run.value;
  const heldOut = (of.series?.["test/env/all/tests_passed"]?.length ?? 0) > 0 ? ", held out" : "";
  return (
    <>
      <h1>{brief(of.name, 120)} {of.kind === "eval" && <span class="tag">evaluation</span>} {of.running && <span class="tag live">running</span>}</h1>
      <p class="soft">{[of.student && `${of.kind === "eval" ? "model" : "student"} ${of.student}`, of.teacher && `teacher ${of.teacher}`, of.mode, of.seed !== null && `seed ${of.seed}`, of.kind === "run" && of.steps !== null && plural(of.steps, "step"), of.written !== null && `written ${ago(of.written)}`].filter(Boolean).map((part) => brief(String(part), 80)).join(" · ")}</p>
      {run.error !== null && <Waiting of={run} what="the run" />}
      <dl class="tiles">
        <div><dt>Pass rate{heldOut}</dt><dd class="now">{percent(of.headline?.pass_rate)}</dd></div>
        <div><dt>Reward{heldOut}</dt><dd class="now">{number(of.headline?.reward)}</dd></div>
        {of.headline?.teacher_kl !== null && <div><dt>KL to the teacher</dt><dd class="now">{number(of.headline?.teacher_kl)}</dd></div>}
        <div><dt>Rollouts</dt><dd class="now">{number(rows?.data.count ?? of.rollouts)}</dd></div>
      </dl>
      <Curves run={of} />
      <Section title="Rollouts" aside={rows ? `${plural(list.length, "rollout")} of ${number(rows.data.count)}` : ""}>
        {rows ? (
          <>
            <Filters rows={rows} note={note} />
            <Matrix run={id} rows={rows} list={list} />
            <RolloutList run={id} rows={rows} list={list} />
          </>
        ) : <Waiting of={index} what="the rollouts" />}
      </Section>
      {of.criteria && of.criteria.length > 0 && <Criteria criteria={of.criteria} />}
      {of.exam && Object.keys(of.exam).length > 0 && <Exam exam={of.exam} />}
      <About run={of} />
    </>
  );
}

function About({ run }: { run: Run }) {
  const settings = flat(run.config ?? {});
  return (
    <Section title="About this run">
      {run.command && <p class="command"><code>{brief(run.command, 2000)}</code> <Copy text={run.command} what="the command of this run" /></p>}
      {run.resumed_by && <p>Resume with <code>{brief(run.resumed_by, 2000)}</code> <Copy text={run.resumed_by} what="the command that resumes it" /></p>}
      <details>
        <summary>{plural(settings.length, "setting")}</summary>
        <table>
          <thead><tr><th>Setting</th><th>Value</th></tr></thead>
          <tbody>{settings.map(([key, value]) => <tr key={key}><th scope="row"><code>{brief(key, 100)}</code></th><td><code>{brief(value, 500)}</code></td></tr>)}</tbody>
        </table>
      </details>
    </Section>
  );
}
