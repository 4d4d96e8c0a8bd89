// Before, this rollout, after, the teacher and the reference side by side; lines that this rollout does not have are marked.
import { CodeFiles } from "./code";
import { DiffFiles, newLines } from "./diff";
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

function columns(of: Rollout): Column[] {
  const version = (key: string, title: string, from: Version | null): Column[] =>
    from ? [{ key, title: from.step === null ? title : `${title} (step ${number(from.step)})`, files: from.files ?? {}, outcome: from.outcome, row: from.row }] : [];
  return [
    ...version("before", "Before", of.before),
    { key: "this", title: "This rollout", files: of.files, outcome: of.grade?.outcome ?? null, row: null },
    ...version("after", "After", of.after),
    ...version("teacher", "Teacher", of.teacher),
    ...(of.reference ? [{ key: "reference", title: "Reference", files: of.reference, outcome: null, row: null }] : []),
  ];
}

/** The file of the same name; where each side has only one, those two. */
function counterpart(of: Files, path: string, others: Files): string {
  const own = Object.values(of);
  return of[path] ?? (own.length === 1 && Object.keys(others).length === 1 ? (own[0] ?? "") : "");
}

export function Compare({ run, of }: { run: string; of: Rollout }) {
  const all = columns(of);
  const others = all.filter((column) => column.key !== "this");
  const wanted = route.value.query.get("against");
  const against = others.find((column) => column.key === wanted) ?? others[others.length - 1];
  return (
    <>
      <div class={`side-by-side of${all.length}`}>
        {all.map((column) => (
          <section key={column.key}>
            <h2>{column.row !== null ? <a href={rolloutLink(run, column.row)}>{column.title}</a> : column.title} {column.outcome && <Outcome of={column.outcome} />}</h2>
            <CodeFiles files={column.files} label={column.title} most={380} marked={column.key === "this" ? undefined : (path) => newLines(counterpart(of.files, path, column.files), column.files[path] ?? "")} />
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
