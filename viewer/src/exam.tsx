// A run's exam and its criteria of success as tables; whatever has another shape is shown as it is.
import { flat } from "./overlay";
import { asText, brief, number, percent } from "./text";
import { LongText, Outcome, Section } from "./ui";

const WHO: [string, string][] = [["before", "student before"], ["after", "student after"], ["teacher", "teacher"]];
const SETS: Record<string, string> = { test: "trained families, unseen instances", new: "families never trained on" };

type Fields = Record<string, unknown>;
const fields = (value: unknown): Fields => (value !== null && typeof value === "object" && !Array.isArray(value) ? (value as Fields) : {});
const numeric = (value: unknown): number | null => (typeof value === "number" ? value : null);

interface Line {
  set: string;
  who: string;
  problems: number | null;
  greedy: number | null;
  sampled: number | null;
  reward: number | null;
}

function lines(exam: Fields): Line[] {
  const sets = [...new Set(WHO.flatMap(([who]) => Object.keys(fields(exam[who]))))];
  return sets.flatMap((set) => WHO.flatMap(([who, label]) => {
    const answered = fields(fields(exam[who])[set]);
    const [greedy, sampled] = [fields(answered["greedy"]), fields(answered["sampled"])];
    const rate = (of: Fields): number | null => numeric(of["pass_at_k"]) ?? numeric(fields(of["rates"])["pass_rate"]);
    if (rate(greedy) === null) return [];
    return [{ set, who: label, problems: numeric(greedy["problems"]), greedy: rate(greedy), sampled: rate(sampled), reward: numeric(fields(greedy["rates"])["reward/total"]) }];
  }));
}

export function Exam({ exam }: { exam: Fields }) {
  const known = lines(exam);
  return (
    <Section title="Exam" aside="unseen problems, used for nothing else">
      {known.length > 0 ? (
        <div class="scroll" tabIndex={0} role="region" aria-label="Exam">
          <table>
            <thead><tr><th>Problems</th><th>Who</th><th class="number">Count</th><th class="number">Pass rate, greedy</th><th class="number">at temperature 1</th><th class="number">Reward, greedy</th></tr></thead>
            <tbody>{known.map((line, at) => (
              <tr key={at}>
                <th scope="row">{brief(SETS[line.set] ?? line.set, 60)}</th><td>{line.who}</td><td class="number">{number(line.problems)}</td>
                <td class="number"><strong>{percent(line.greedy)}</strong></td><td class="number">{percent(line.sampled)}</td><td class="number">{number(line.reward)}</td>
              </tr>
            ))}</tbody>
          </table>
        </div>
      ) : (
        <table><tbody>{flat(exam).slice(0, 400).map(([key, value]) => <tr key={key}><th scope="row"><code>{brief(key, 100)}</code></th><td>{brief(value, 200)}</td></tr>)}</tbody></table>
      )}
    </Section>
  );
}

export function Criteria({ criteria }: { criteria: unknown[] }) {
  const known = criteria.map(fields).filter((one) => typeof one["name"] === "string" && typeof one["met"] === "boolean");
  if (known.length === 0) return <Section title="Criteria"><LongText text={asText(criteria)} label="Criteria" /></Section>;
  return (
    <Section title="Criteria of success" aside={`${known.filter((one) => one["met"]).length} of ${known.length} met`}>
      <div class="scroll" tabIndex={0} role="region" aria-label="Criteria of success">
        <table>
          <thead><tr><th>Criterion</th><th>Wanted</th><th>Found</th><th>Result</th></tr></thead>
          <tbody>{known.slice(0, 100).map((one, at) => (
            <tr key={at}>
              <th scope="row">{brief(asText(one["name"]), 120)}</th><td>{brief(asText(one["wanted"]), 120)}</td><td>{brief(asText(one["found"]), 120)}</td>
              <td><Outcome of={one["met"] ? "passed" : "failed"} word={one["met"] ? "met" : "not met"} /></td>
            </tr>
          ))}</tbody>
        </table>
      </div>
    </Section>
  );
}
