// The filters of a run's rollouts; each choice is a part of the address.
import { useMemo } from "preact/hooks";
import { bundled } from "./data";
import { filters, route, set } from "./route";
import { CHOICES, type Rows } from "./rows";
import { Choice } from "./ui";

const MOST_VALUES = 300;

export function Filters({ rows, note }: { rows: Rows; note: string }) {
  const query = route.value.query;
  const values = useMemo(() => new Map(CHOICES.map(({ key }) => [key, rows.values(key).slice(0, MOST_VALUES)])), [rows]);
  const active = [...filters().keys()];
  return (
    <div class="bar filters" role="search">
      <label class="choice grow">
        <span class="unseen">Search problems and reasons</span>
        <input type="search" id="search" placeholder="Search problems and reasons ( / )" value={query.get("q") ?? ""} onInput={(event) => set({ q: event.currentTarget.value }, true)} />
      </label>
      {!bundled && <label class="check"><input type="checkbox" checked={query.get("texts") === "1"} onChange={(event) => set({ texts: event.currentTarget.checked ? "1" : null })} /> texts too</label>}
      {CHOICES.filter(({ key }) => (values.get(key)?.length ?? 0) > 1 || query.has(key)).map(({ key, label }) => (
        <Choice
          key={key} label={label} hideLabel value={query.get(key) ?? ""} onChange={(value) => set({ [key]: value })}
          options={[{ value: "", label: `${label}: all` }, ...(values.get(key) ?? []).map(([value, count]) => ({ value, label: `${value} (${count})` }))]}
        />
      ))}
      {rows.trained && <Choice
        label="Signal of the group" hideLabel value={query.get("signal") ?? ""} onChange={(value) => set({ signal: value })}
        options={[{ value: "", label: "Signal: all" }, { value: "none", label: "no signal (all rewards equal)" }, { value: "some", label: "with signal" }]}
      />}
      {query.get("problem") && <button type="button" onClick={() => set({ problem: null })}>Problem: {query.get("problem")} ✕</button>}
      {active.length > 0 && <button type="button" onClick={() => set(Object.fromEntries(active.map((key) => [key, null])))}>Clear</button>}
      <span class="soft small" role="status">{note}</span>
    </div>
  );
}
