// Lanes of a candidate, and of the reference where the two differ, on one time axis: zoom, pan, a cursor that tells values.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { bundled } from "./data";
import { LANE, type Lane, Lanes } from "./lanes";
import { route, set } from "./route";
import { brief, plural } from "./text";
import type { Signal, Waves } from "./types";
import { Choice } from "./ui";
import { differences, formatted, indexAt, type Radix, timeIn, type Unit, unitOf, widened } from "./wave_values";

const MOST_LANES = 60;
const RADIXES: { value: Radix; label: string }[] = [{ value: "hex", label: "hexadecimal" }, { value: "dec", label: "decimal" }, { value: "signed", label: "signed" }, { value: "bin", label: "binary" }];
const ORDER = { input: 0, output: 1, inner: 2 };
/** A signal's name within the top module; the simulator may have others beside it. */
const within = (name: string, top: string): string => (top && name.startsWith(`${top}.`) ? name.slice(top.length + 1) : name);

function lanesOf(candidate: Waves, reference: Waves | null): Lane[] {
  const others = new Map((reference?.signals ?? []).map((signal) => [signal.name, signal]));
  const failing = candidate.failing_signal;
  const top = candidate.signals[0]?.name.split(".")[0] ?? "";
  const isFailing = (name: string): boolean => failing !== null && name === failing;
  const rank = (signal: Signal): number => (isFailing(signal.name) ? -1 : ORDER[signal.direction] ?? 2);
  // After a failure the next test begins, with each design at another time.
  const end = candidate.fail_time === null ? candidate.to : Math.min(candidate.to, candidate.fail_time + 1);
  const out: Lane[] = [];
  for (const [at, signal] of [...candidate.signals].sort((a, b) => rank(a) - rank(b)).entries()) {
    const other = others.get(signal.name);
    const differs = other ? differences(signal, other, candidate.from, end) : [];
    const tag = !reference ? "" : !other ? "candidate only" : differs.length > 0 ? "candidate" : "both";
    const name = within(signal.name, top);
    const outside = name === signal.name && top !== "";
    const key = `${at} ${signal.name}`; // an escaped name may hold dots, and be another one's path
    out.push({ key, name, tag, signal, failing: isFailing(signal.name), outside, differs });
    if (other && differs.length > 0) out.push({ key: `${key} reference`, name, tag: "reference", signal: other, failing: false, outside, differs });
  }
  return out;
}

function clamp(a: number, b: number, from: number, to: number): [number, number] {
  const [low, high] = [Math.max(from, a), Math.min(to, b)];
  return high - low < (to - from) / 1e6 || high - low < 1e-9 ? [from, to] : [low, high];
}

/** The stretch that the address names, if the file has it. */
function linkedSpan(from: number, to: number): [number, number] | null {
  const [a, b] = (route.value.query.get("span") ?? "").split("-").map(Number);
  return a !== undefined && b !== undefined && a >= from && b <= to && b - a > (to - from) / 1e6 ? [a, b] : null;
}

/** The stretch of time in sight, within what there is: it opens on the half of it around the times to look at, or on as much as shows both. */
function useView(from: number, to: number, differsAt: number | null, fail: number | null) {
  const opening = useMemo((): [number, number] => {
    const first = differsAt ?? fail;
    if (first === null) return [from, to];
    const last = fail ?? first;
    const centre = (first + last) / 2;
    const half = Math.max((to - from) / 4, 0.6 * Math.abs(last - first));
    return clamp(centre - half, centre + half, from, to);
  }, [from, to, differsAt, fail]);
  const [view, setView] = useState<[number, number]>(linkedSpan(from, to) ?? opening);
  useEffect(() => setView(linkedSpan(from, to) ?? opening), [from, to, opening]);
  const isOpening = view[0] === opening[0] && view[1] === opening[1];
  const span = isOpening ? null : view.map((time) => Number(time.toPrecision(12))).join("-");
  useEffect(() => {
    if ((route.value.query.get("span") ?? null) === span) return;
    const timer = setTimeout(() => set({ span }, true), 200);
    return () => clearTimeout(timer);
  }, [span]);
  const zoom = (by: number, at = 0.5): void => setView(([a, b]) => {
    const centre = a + (b - a) * at;
    return clamp(centre - (centre - a) * by, centre + (b - centre) * by, from, to);
  });
  const pan = (by: number): void => setView(([a, b]) => {
    const shift = Math.max(from - a, Math.min(to - b, by * (b - a)));
    return [a + shift, b + shift];
  });
  const show = (time: number): void => setView(([a, b]) => {
    if (time >= a && time <= b) return [a, b];
    const start = Math.max(from, Math.min(to - (b - a), time - (b - a) / 2));
    return [start, start + (b - a)];
  });
  return { view, zoom, pan, show, all: () => setView([from, to]) };
}

function useWidth() {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(800);
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const watch = new ResizeObserver(() => setWidth(Math.max(100, element.clientWidth)));
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  return { box, width };
}

function valueAt(signal: Signal, time: number): string {
  const change = signal.changes[indexAt(signal.changes, time)];
  return change ? widened(change[1], signal.width) : "x";
}

export function WaveViewer({ candidate, reference }: { candidate: Waves; reference: Waves | null }) {
  const query = route.value.query;
  const radix = (RADIXES.find((one) => one.value === query.get("radix"))?.value ?? "hex") as Radix;
  const search = (query.get("signals") ?? "").toLowerCase();
  const all = useMemo(() => lanesOf(candidate, reference), [candidate, reference]);
  const [most, setMost] = useState(MOST_LANES);
  const everything = query.get("outside") === "1" || search !== "";
  const outside = useMemo(() => all.filter((lane) => lane.outside).length, [all]);
  const matching = useMemo(() => all.filter((lane) => (everything || !lane.outside) && (!search || lane.name.toLowerCase().includes(search))), [all, search, everything]);
  const lanes = useMemo(() => matching.slice(0, most), [matching, most]);
  const differsAt = reference?.differs_at ?? candidate.differs_at ?? null;
  const [from, to] = [Math.min(candidate.from, reference?.from ?? candidate.from), Math.max(candidate.to, reference?.to ?? candidate.to, candidate.from + 1)];
  const unit = useMemo(() => unitOf(candidate.timescale, to - from), [candidate.timescale, to, from]);
  const { view, zoom, pan, show, all: showAll } = useView(from, to, differsAt, candidate.fail_time);
  const linked = query.has("at") ? Number(query.get("at")) : Number.NaN;
  const [cursor, setCursor] = useState<number | null>(linked >= from && linked <= to ? linked : null);
  const at = cursor ?? differsAt ?? candidate.fail_time;
  const { box, width } = useWidth();
  const jump = (by: 1 | -1): void => {
    const changes = (lanes[0]?.signal.changes ?? []).map(([time]) => time).filter((time) => time > from && time < to);
    const present = at ?? (by > 0 ? from : to);
    const next = by > 0 ? changes.find((time) => time > present) : changes.filter((time) => time < present).at(-1);
    if (next === undefined) return;
    setCursor(next);
    show(next);
    set({ at: next }, true);
  };
  const keys = (event: KeyboardEvent): void => {
    const act = {
      ArrowLeft: () => pan(-0.2), ArrowRight: () => pan(0.2), "+": () => zoom(0.6), "=": () => zoom(0.6), "-": () => zoom(1.6), "0": showAll,
      n: () => jump(1), p: () => jump(-1),
    }[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
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
  const dragged = useRef(false);
  const timeUnder = (event: PointerEvent): number => {
    const left = (event.currentTarget as HTMLElement).getBoundingClientRect().left;
    return Math.round(Math.max(from, Math.min(to, view[0] + ((event.clientX - left) / width) * (view[1] - view[0]))));
  };
  const moved = (event: PointerEvent): void => {
    if (drag.current === null) setCursor(timeUnder(event));
    else if (event.clientX !== drag.current) {
      pan((drag.current - event.clientX) / width);
      drag.current = event.clientX;
      dragged.current = true;
    }
  };
  const pressed = (event: PointerEvent): void => {
    drag.current = event.clientX;
    dragged.current = false;
    (event.currentTarget as HTMLElement).setPointerCapture(event.pointerId);
  };
  const released = (event: PointerEvent): void => {
    drag.current = null;
    moved(event);
    if (!dragged.current) set({ at: timeUnder(event) }, true); // a click keeps the place
  };
  // The cursor is drawn over them: moving it draws no lane again.
  const drawn = useMemo(
    () => <Lanes lanes={lanes} from={view[0]} to={view[1]} width={width} radix={radix} unit={unit} fail={candidate.fail_time} differsAt={differsAt} />,
    [lanes, view[0], view[1], width, radix, unit, candidate.fail_time, differsAt],
  );
  const file = (of: Waves): string => `${bundled ? "data" : "api"}/${of.file}`;
  return (
    <>
      <div class="bar">
        <button type="button" onClick={() => zoom(0.6)} aria-label="Zoom in">+</button>
        <button type="button" onClick={() => zoom(1.6)} aria-label="Zoom out">−</button>
        <button type="button" onClick={() => pan(-0.4)} aria-label="Earlier">◀</button>
        <button type="button" onClick={() => pan(0.4)} aria-label="Later">▶</button>
        <button type="button" onClick={showAll}>All</button>
        <Choice label="Radix" value={radix} options={RADIXES} onChange={(value) => set({ radix: value }, true)} />
        <label class="choice grow"><span class="unseen">Search signals</span><input type="search" placeholder="Search signals" value={query.get("signals") ?? ""} onInput={(event) => set({ signals: event.currentTarget.value }, true)} /></label>
        <a class="button" href={file(candidate)} download>Download for Surfer / GTKWave</a>
        {reference && <a class="button" href={file(reference)} download>Reference's file</a>}
      </div>
      <About candidate={candidate} differsAt={differsAt} unit={unit} />
      <div class="wave-box">
        <div class="wave-names">
          <p class="wave-at" role="status">{at === null ? "" : `at ${timeIn(unit, at)}`}</p>
          <ul aria-label="Signals">
            {lanes.map((lane) => (
              <li key={lane.key} style={{ height: `${LANE}px` }} class={lane.failing ? "failing" : ""} title={brief(lane.name, 200)}>
                <code>{lane.failing && "▶ "}{brief(lane.name, 60)}{lane.signal.width > 1 && `[${lane.signal.width - 1}:0]`}</code> {lane.tag !== "both" && lane.tag && <span class="soft">{lane.tag}</span>}
                {at !== null && <code class="value">{brief(formatted(valueAt(lane.signal, at), radix), 24)}</code>}
              </li>
            ))}
          </ul>
        </div>
        <div
          ref={box} class="wave-lanes" tabIndex={0} role="application" aria-label="Waves. Arrow keys pan, plus and minus zoom, 0 shows all, n and p go to the next and previous change of the first signal." onKeyDown={keys}
          onPointerDown={pressed} onPointerMove={moved} onPointerUp={released} onPointerCancel={() => (drag.current = null)}
        >
          {drawn}
          {cursor !== null && cursor >= view[0] && cursor <= view[1] && <div class="wave-cursor" style={{ left: `${((cursor - view[0]) / (view[1] - view[0])) * width}px` }} />}
        </div>
      </div>
      {lanes.length === 0 && <p class="soft">{all.length === 0 ? "The file has no signals." : "No signal matches."}</p>}
      {outside > 0 && search === "" && <button type="button" class="plain" onClick={() => set({ outside: everything ? null : "1" }, true)}>{everything ? "Only signals of the design" : `Show ${plural(outside, "signal")} of modules beside the design`}</button>}
      {matching.length > most && <button type="button" onClick={() => setMost(most + MOST_LANES)}>Show more ({plural(matching.length - most, "lane")})</button>}
    </>
  );
}

function About({ candidate, differsAt, unit }: { candidate: Waves; differsAt: number | null; unit: Unit }) {
  return (
    <>
      <p class="small">
        {candidate.failing_signal && <>Failing signal <code class="bad">{brief(candidate.failing_signal, 80)}</code>. </>}
        {candidate.expected !== null && <>Expected <code>{brief(candidate.expected, 80)}</code>, got <code class="bad">{brief(candidate.got, 80)}</code>. </>}
        {candidate.fail_time !== null && <><span class="key-fail" /> failed at {timeIn(unit, candidate.fail_time)}. </>}
        {differsAt !== null && <><span class="key-differs" /> first difference to the reference at {timeIn(unit, differsAt)}. </>}
        {candidate.truncated && <span class="soft">Cut to a window and a number of signals: the file has all. </span>}
      </p>
      {candidate.notes.length > 0 && <ul class="small">{candidate.notes.map((note, at) => <li key={at}>{brief(note, 300)}</li>)}</ul>}
    </>
  );
}
