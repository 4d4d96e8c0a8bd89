// Every stage and test of a grade with its message.
import { bundled } from "./data";
import { set } from "./route";
import { brief, number } from "./text";
import type { Rollout, TestResult } from "./types";
import { LongText, Outcome, Section } from "./ui";

const word = (passed: boolean | null): string => (passed === null ? "not run" : passed ? "passed" : "failed");

export function Tests({ of }: { of: Rollout }) {
  const grade = of.grade;
  if (!grade) return <p class="soft">This rollout has no grade.</p>;
  return (
    <>
      <div class="scroll">
        <table>
          <thead><tr><th>Stage</th><th>Result</th><th class="number">Score</th><th>Notes</th></tr></thead>
          <tbody>{grade.stages.map((stage) => <tr key={stage.name}><th scope="row">{brief(stage.name, 30)}</th><td><Outcome of={word(stage.passed)} /></td><td class="number">{number(stage.score, 2)}</td><td>{stage.notes.slice(0, 8).map((note, at) => <p key={at} class="note">{brief(note, 400)}</p>)}</td></tr>)}</tbody>
        </table>
      </div>
      <Section title="Tests" aside={`${grade.tests.filter((test) => test.passed).length} of ${grade.tests.length} passed`}>
        {grade.tests.length === 0 && <p class="soft">No test was run.</p>}
        {grade.tests.length > 0 && (
          <div class="scroll" tabIndex={0} role="region" aria-label="Tests">
            <table>
              <thead><tr><th>Test</th><th>Result</th><th>Message</th><th>Where</th><th class="number">Time</th></tr></thead>
              <tbody>{grade.tests.slice(0, 2000).map((test, at) => <Line key={at} test={test} waves={of.waves ?? []} />)}</tbody>
            </table>
          </div>
        )}
      </Section>
      {grade.log && <details><summary>Log of the failing service</summary><LongText text={grade.log} label="Log" /></details>}
    </>
  );
}

function Line({ test, waves }: { test: TestResult; waves: string[] }) {
  return (
    <tr>
      <th scope="row"><code>{brief(test.name, 120)}</code> {test.item.includes("[") && <span class="soft small">{brief(test.item.slice(test.item.indexOf("[")), 60)} </span>}{test.passed === false && (!bundled || waves.includes(test.name)) && <button type="button" class="plain" onClick={() => set({ tab: "waves", test: test.name })}>waves</button>}</th>
      <td><Outcome of={word(test.passed)} /></td>
      <td class="message">{brief(test.message, 1000)}</td>
      <td><code>{brief(test.where, 120)}</code></td>
      <td class="number">{test.time_ns === null ? "–" : `${number(test.time_ns)} ns`}</td>
    </tr>
  );
}
