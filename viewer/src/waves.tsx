// The waves of a test, simulated again on demand; those that were made before are shown at once.
import { useEffect, useState } from "preact/hooks";
import { bundled, useData } from "./data";
import { route, set } from "./route";
import { brief, wellFormed } from "./text";
import type { Rollout, Waves } from "./types";
import { Choice, Failure, Waiting } from "./ui";
import { WaveViewer } from "./wave_viewer";

export function WavesTab({ run, of }: { run: string; of: Rollout }) {
  const tests = of.grade?.tests ?? [];
  const kept = of.waves ?? [];
  const query = route.value.query;
  const named = (name: string | null | undefined) => tests.find((one) => wellFormed(one.name) === wellFormed(name ?? ""));
  const test = named(query.get("test")) ?? named(kept[0]) ?? tests.find((one) => one.passed === false) ?? tests[0];
  const [asked, setAsked] = useState<string | null>(query.get("show") === "1" ? (test?.name ?? null) : null);
  const address = `runs/${run}/rollouts/${of.row}/waves?test=${encodeURIComponent(wellFormed(test?.name ?? ""))}`;
  const wanted = test !== undefined && asked === test.name;
  const before = useData<Waves>(test && !bundled && !wanted ? `${address}&of=candidate&kept=1` : null);
  if (!test) return <p class="soft">No test was run on this rollout, so there is nothing to simulate.</p>;
  const there = wanted || (bundled ? kept.includes(test.name) : before.value?.status === "ok");
  const simulate = (): void => {
    setAsked(test.name);
    set({ show: "1", test: test.name }, true);
  };
  const names = [...new Set(tests.map((one) => one.name))].filter((name) => !bundled || kept.includes(name));
  const sign = (name: string): string => ({ true: "✓", false: "✗" })[String(named(name)?.passed)] ?? "–";
  return (
    <>
      <div class="bar">
        <Choice label="Test" value={test.name} options={names.slice(0, 500).map((name) => ({ value: name, label: `${sign(name)} ${name}` }))} onChange={(value) => { set({ test: value, span: null, at: null }, true); if (asked) setAsked(value); }} />
        {!there && !bundled && (before.value || before.error) && <button type="button" class="primary" onClick={simulate}>Simulate and show the waves</button>}
      </div>
      {test.message && <p class="message">{brief(test.message, 600)}</p>}
      {there && <Simulated key={test.name} address={address} />}
      {!there && bundled && <p class="soft">This copy has the waves of {kept.length} of the tests: those that were looked at before it was written. <code>rtl-agent view</code> simulates the others.</p>}
    </>
  );
}

function Simulated({ address }: { address: string }) {
  const candidate = useData<Waves>(`${address}&of=candidate`);
  const reference = useData<Waves>(candidate.value?.status === "ok" && candidate.value.reference ? `${address}&of=reference` : null);
  useEffect(() => {
    if (candidate.value?.status !== "waiting") return;
    const timer = setTimeout(candidate.retry, 1000);
    return () => clearTimeout(timer);
  }, [candidate.value]);
  if (!candidate.value || candidate.error) return <Waiting of={candidate} what="the waves" />;
  if (candidate.value.status === "waiting") return <p class="soft busy" role="status">{brief(candidate.value.message, 300)} This takes some seconds.</p>;
  if (candidate.value.status !== "ok") return <Failure message={candidate.value.message || "The simulation gave no waves."} retry={candidate.retry} />;
  return (
    <>
      {candidate.value.reference && !reference.value && <Waiting of={reference} what="the reference's waves" />}
      {reference.value?.status === "error" && <p class="soft">No waves of the reference: {brief(reference.value.message, 300)}</p>}
      <WaveViewer candidate={candidate.value} reference={reference.value?.status === "ok" ? reference.value : null} />
    </>
  );
}
