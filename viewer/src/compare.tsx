// Before, this rollout, after, the teacher and the reference side by side; lines that this rollout does not have are marked.
import { CodeFiles } from "./code";
import { DiffFiles, newLines } from "./diff";
import { designs, matched } from "./reply";
import { rolloutLink, route, set } from "./route";
import { number } from "./text";
import type { Files, Rollout, Version } from "./types";
import { Choice, Outcome, Section } from "./ui";

interface Column {
  key: string;
  title: string;
  files: Files;
  outcome: string | null;
  row: number | null;
}

/** A version that is this very rollout has no column of its own. */
function columns(of: Rollout): Column[] {
  const own = (["before", "after", "teacher"] as const).filter((key) => of[key]?.row === of.row);
  const version = (key: string, title: string, from: Version | null): Column[] =>
    from && from.row !== of.row ? [{ key, title: from.step === null ? title : `${title} (step ${number(from.step)})`, files: from.files ?? {}, outcome: from.outcome, row: from.row }] : [];
  return [
    ...version("before", "Before", of.before),
    { key: "this", title: own.length > 0 ? `This rollout (${own.join(", ")})` : "This rollout", files: of.files, outcome: of.grade?.outcome ?? null, row: null },
    ...version("after", "After", of.after),
    ...version("teacher", "Teacher", of.teacher),
    ...(of.reference ? [{ key: "reference", title: "Reference", files: of.reference, outcome: null, row: null }] : []),
  ];
}

/** The text of this rollout that a file of another version is compared with. */
function counterpart(of: Files, path: string, others: Files): string {
  const pair = matched(of, others);
  return (pair.length === 1 ? pair[0]?.a : pair.find((one) => one.path === path)?.a) ?? "";
}

function isSame(a: Files, b: Files): boolean {
  return matched(designs(a), designs(b)).every((pair) => pair.a === pair.b);
}

export function Compare({ run, of }: { run: string; of: Rollout }) {
  const all = columns(of);
  const others = all.filter((column) => column.key !== "this");
  const wanted = route.value.query.get("against");
  const against = others.find((column) => column.key === wanted) ?? others[others.length - 1];
  return (
    <>
      <p class="soft small"><span class="key-marked" /> lines that this rollout does not have</p>
      <div class={`side-by-side of${all.length}`}>
        {all.map((column) => (
          <section key={column.key}>
            <h2>{column.row !== null ? <a href={rolloutLink(run, column.row)}>{column.title}</a> : column.title} {column.outcome && <Outcome of={column.outcome} />}</h2>
            <CodeFiles files={column.files} label={column.title} note={column.key !== "this" && isSame(of.files, column.files) ? "the same text" : undefined} most={380} marked={column.key === "this" ? undefined : (path) => newLines(counterpart(designs(of.files), path, designs(column.files)), designs(column.files)[path] ?? "")} />
          </section>
        ))}
      </div>
      {against && (
        <Section title="Difference">
          <div class="bar"><Choice label="This rollout against" value={against.key} options={others.map(({ key, title }) => ({ value: key, label: title }))} onChange={(value) => set({ against: value }, true)} /></div>
          <DiffFiles a={of.files} b={against.files} names={["This rollout", against.title]} />
        </Section>
      )}
    </>
  );
}
