// Waves of a test, simulated again on demand: candidate and reference on one time axis, opened where they first differ.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { bundled, useData } from "./data";
import { LANE, type Lane, Lanes } from "./lanes";
import { route, set } from "./route";
import { brief, number, plural } from "./text";
import type { Rollout, Signal, Waves } from "./types";
import { Choice, Failure, Waiting } from "./ui";
import { differences, type Radix } from "./wave_values";

const MOST_LANES = 60;
const RADIXES: { value: Radix; label: string }[] = [{ value: "hex", label: "hexadecimal" }, { value: "dec", label: "decimal" }, { value: "signed", label: "signed" }, { value: "bin", label: "binary" }];

export function WavesTab({ run, of }: { run: string; of: Rollout }) {
  const tests = of.grade?.tests ?? [];
  const query = route.value.query;
  const test = tests.find((one) => one.name === query.get("test")) ?? tests.find((one) => one.passed === false) ?? tests[0];
  const [asked, setAsked] = useState<string | null>(query.get("show") === "1" ? (test?.name ?? null) : null);
  if (!test) return <p class="soft">No test was run on this rollout, so there is nothing to simulate.</p>;
  const names = [...new Set(tests.map((one) => one.name))];
  return (
    <>
      <div class="bar">
        <Choice label="Test" value={test.name} options={names.slice(0, 500).map((name) => ({ value: name, label: `${tests.find((one) => one.name === name)?.passed ? "✓" : "✗"} ${name}` }))} onChange={(value) => { set({ test: value }, true); if (asked) setAsked(value); }} />
        {asked !== test.name && <button type="button" class="primary" onClick={() => { setAsked(test.name); set({ show: "1", test: test.name }, true); }}>Simulate and show the waves</button>}
      </div>
      {test.message && <p class="message">{brief(test.message, 600)}</p>}
      {asked === test.name && <Simulated key={test.name} run={run} of={of} test={test.name} />}
    </>
  );
}

function Simulated({ run, of, test }: { run: string; of: Rollout; test: string }) {
  const base = `runs/${run}/rollouts/${of.row}/waves?test=${encodeURIComponent(test)}`;
  const candidate = useData<Waves>(`${base}&of=candidate`);
  const reference = useData<Waves>(candidate.value?.status === "ok" && candidate.value.reference ? `${base}&of=reference` : null);
  useEffect(() => {
    if (candidate.value?.status !== "waiting") return;
    const timer = setTimeout(candidate.retry, 1000);
    return () => clearTimeout(timer);
  }, [candidate.value]);
  if (bundled && candidate.error) return <p class="soft">This copy has no waves of this test: a copy can show those that were made before it was written. `rtl-agent view` simulates again.</p>;
  if (!candidate.value || candidate.error) return <Waiting of={candidate} what="the waves" />;
  if (candidate.value.status === "waiting") return <p class="soft" role="status">{brief(candidate.value.message, 300)} This takes some seconds.</p>;
  if (candidate.value.status !== "ok") return <Failure message={candidate.value.message || "The simulation gave no waves."} retry={candidate.retry} />;
  return (
    <>
      {candidate.value.reference && !reference.value && <Waiting of={reference} what="the reference's waves" />}
      {reference.value?.status === "error" && <p class="soft">No waves of the reference: {brief(reference.value.message, 300)}</p>}
      <Viewer candidate={candidate.value} reference={reference.value?.status === "ok" ? reference.value : null} />
    </>
  );
}

const ORDER = { input: 0, output: 1, inner: 2 };
const last = (name: string): string => name.split(".").pop() ?? name;

function lanesOf(candidate: Waves, reference: Waves | null): Lane[] {
  const others = new Map((reference?.signals ?? []).map((signal) => [signal.name, signal]));
  const failing = candidate.failing_signal;
  const isFailing = (name: string): boolean => failing !== null && (name === failing || last(name) === last(failing));
  const rank = (signal: Signal): number => (isFailing(signal.name) ? -1 : ORDER[signal.direction] ?? 2);
  // After a failure the next test begins, with each design at another time.
  const end = candidate.fail_time === null ? candidate.to : Math.min(candidate.to, candidate.fail_time + 1);
  const out: Lane[] = [];
  for (const signal of [...candidate.signals].sort((a, b) => rank(a) - rank(b))) {
    const other = others.get(signal.name);
    const differs = other ? differences(signal, other, candidate.from, end) : [];
    const tag = !reference ? "" : !other ? "candidate only" : differs.length > 0 ? "candidate" : "both";
    out.push({ key: signal.name, name: signal.name, tag, signal, failing: isFailing(signal.name), differs });
    if (other && differs.length > 0) out.push({ key: `${signal.name} reference`, name: signal.name, tag: "reference", signal: other, failing: false, differs });
  }
  return out;
}

function Viewer({ candidate, reference }: { candidate: Waves; reference: Waves | null }) {
  const query = route.value.query;
  const radix = (RADIXES.find((one) => one.value === query.get("radix"))?.value ?? "hex") as Radix;
  const search = (query.get("signals") ?? "").toLowerCase();
  const all = useMemo(() => lanesOf(candidate, reference), [candidate, reference]);
  const [most, setMost] = useState(MOST_LANES);
  const matching = all.filter((lane) => !search || lane.name.toLowerCase().includes(search));
  const lanes = matching.slice(0, most);
  const differsAt = reference?.differs_at ?? candidate.differs_at;
  const [from, to] = [Math.min(candidate.from, reference?.from ?? candidate.from), Math.max(candidate.to, reference?.to ?? candidate.to, candidate.from + 1)];
  const [view, setView] = useState<[number, number]>([from, to]);
  useEffect(() => {
    const span = to - from;
    const focus = differsAt ?? candidate.fail_time;
    setView(focus === null || focus === undefined ? [from, to] : clamp(focus - span / 4, focus + span / 4, from, to));
  }, [from, to, differsAt, candidate.fail_time]);
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(800);
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const watch = new ResizeObserver(() => setWidth(Math.max(100, element.clientWidth)));
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  const zoom = (by: number, at = 0.5): void => setView(([a, b]) => {
    const centre = a + (b - a) * at;
    return clamp(centre - (centre - a) * by, centre + (b - centre) * by, from, to);
  });
  const pan = (by: number): void => setView(([a, b]) => {
    const shift = Math.max(from - a, Math.min(to - b, by * (b - a)));
    return [a + shift, b + shift];
  });
  const keys = (event: KeyboardEvent): void => {
    const act = { ArrowLeft: () => pan(-0.2), ArrowRight: () => pan(0.2), "+": () => zoom(0.6), "=": () => zoom(0.6), "-": () => zoom(1.6), "0": () => setView([from, to]) }[event.key];
    if (!act) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  };
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const wheel = (event: WheelEvent): void => {
      if (!event.ctrlKey && !event.shiftKey) return;
      event.preventDefault();
      if (event.ctrlKey) zoom(event.deltaY > 0 ? 1.25 : 0.8, (event.clientX - element.getBoundingClientRect().left) / width);
      else pan((event.deltaY || event.deltaX) / 800);
    };
    element.addEventListener("wheel", wheel, { passive: false });
    return () => element.removeEventListener("wheel", wheel);
  }, [width, from, to]);
  const drag = useRef<number | null>(null);
  return (
    <>
      <div class="bar">
        <button type="button" onClick={() => zoom(0.6)} aria-label="Zoom in">+</button>
        <button type="button" onClick={() => zoom(1.6)} aria-label="Zoom out">−</button>
        <button type="button" onClick={() => pan(-0.4)} aria-label="Earlier">◀</button>
        <button type="button" onClick={() => pan(0.4)} aria-label="Later">▶</button>
        <button type="button" onClick={() => setView([from, to])}>All</button>
        <Choice label="Radix" value={radix} options={RADIXES} onChange={(value) => set({ radix: value }, true)} />
        <label class="choice grow"><span class="unseen">Search signals</span><input type="search" placeholder="Search signals" value={query.get("signals") ?? ""} onInput={(event) => set({ signals: event.currentTarget.value }, true)} /></label>
        <a class="button" href={`api/${candidate.file}`} download>Download for Surfer / GTKWave</a>
        {reference && <a class="button" href={`api/${reference.file}`} download>Reference's file</a>}
      </div>
      <p class="small">
        {candidate.failing_signal && <>Failing signal <code class="bad">{brief(candidate.failing_signal, 80)}</code>. </>}
        {candidate.expected !== null && <>Expected <code>{brief(candidate.expected, 80)}</code>, got <code class="bad">{brief(candidate.got, 80)}</code>. </>}
        {candidate.fail_time !== null && <><span class="key-fail" /> failed at {number(candidate.fail_time)}. </>}
        {differsAt !== null && differsAt !== undefined && <><span class="key-differs" /> first difference to the reference at {number(differsAt)}. </>}
        <span class="soft">Time in units of {brief(candidate.timescale, 20)}{candidate.truncated && "; cut to a window and a number of signals"}.</span>
      </p>
      {candidate.notes.length > 0 && <ul class="small">{candidate.notes.map((note) => <li key={note}>{brief(note, 300)}</li>)}</ul>}
      <div class="wave-box">
        <ul class="wave-names" aria-label="Signals">
          {lanes.map((lane) => (
            <li key={lane.key} style={{ height: `${LANE}px` }} class={lane.failing ? "failing" : ""} title={brief(lane.name, 200)}>
              <code>{lane.failing && "▶ "}{brief(last(lane.name), 60)}{lane.signal.width > 1 && `[${lane.signal.width - 1}:0]`}</code> {lane.tag !== "both" && lane.tag && <span class="soft">{lane.tag}</span>}
            </li>
          ))}
        </ul>
        <div
          ref={box} class="wave-lanes" tabIndex={0} role="application" aria-label="Waves. Arrow keys pan, plus and minus zoom, 0 shows all." onKeyDown={keys}
          onPointerDown={(event) => { drag.current = event.clientX; event.currentTarget.setPointerCapture(event.pointerId); }}
          onPointerMove={(event) => { if (drag.current === null) return; pan((drag.current - event.clientX) / width); drag.current = event.clientX; }}
          onPointerUp={() => (drag.current = null)} onPointerCancel={() => (drag.current = null)}
        >
          <Lanes lanes={lanes} from={view[0]} to={view[1]} width={width} radix={radix} unit={candidate.timescale} fail={candidate.fail_time} differsAt={differsAt ?? null} />
        </div>
      </div>
      {lanes.length === 0 && <p class="soft">No signal matches.</p>}
      {matching.length > most && <button type="button" onClick={() => setMost(most + MOST_LANES)}>Show more ({plural(matching.length - most, "lane")})</button>}
    </>
  );
}

function clamp(a: number, b: number, from: number, to: number): [number, number] {
  const [low, high] = [Math.max(from, a), Math.min(to, b)];
  return high - low < (to - from) / 1e6 || high - low < 1e-9 ? [from, to] : [low, high];
}
