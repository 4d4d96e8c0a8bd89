// The commands that reproduce a rollout, and what it was graded with.
import { brief, visible } from "./text";
import type { Rollout } from "./types";
import { Copy } from "./ui";

export function Reproduce({ of }: { of: Rollout }) {
  const grade = of.grade;
  return (
    <>
      {of.commands.length === 0 ? <p class="soft">No command is known: its problem is not on this machine.</p> : <p class="soft small">To be run in the folder in which <code>rtl-agent view</code> was started.</p>}
      {of.commands.map(({ about, command }, at) => (
        <article key={at} class="command">
          <p>{brief(about, 300)} <Copy text={command} what={`the command: ${brief(about, 60)}`} /></p>
          <pre tabIndex={0} aria-label="Command">{visible(command.slice(0, 20_000))}</pre>
        </article>
      ))}
      {grade && (
        <table>
          <thead><tr><th>Graded with</th><th>Value</th></tr></thead>
          <tbody>
            <tr><th scope="row">seed</th><td>{grade.seed}</td></tr>
            <tr><th scope="row">path</th><td>{brief(grade.path, 40)} {grade.path_reason && <span class="soft">({brief(grade.path_reason, 200)})</span>}</td></tr>
            {Object.entries(grade.tools ?? {}).map(([tool, version]) => <tr key={tool}><th scope="row">{brief(tool, 40)}</th><td>{brief(String(version), 120)}</td></tr>)}
          </tbody>
        </table>
      )}
    </>
  );
}
