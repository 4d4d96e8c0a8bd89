// Lanes of waves as SVG: bits as levels, buses as hexagons with their value, lines at the failing and the first differing time.
import { brief } from "./text";
import type { Signal } from "./types";
import { formatted, type Radix, stretches, timeIn, type Unit } from "./wave_values";

export interface Lane {
  key: string;
  name: string;
  tag: string;
  signal: Signal;
  failing: boolean;
  outside: boolean; // of another root than the design
  differs: [number, number][];
}

export const LANE = 28;
const HEAD = 22;
const [HIGH, LOW] = [6, 22];

interface Props {
  lanes: Lane[];
  from: number;
  to: number;
  width: number;
  radix: Radix;
  unit: Unit;
  fail: number | null;
  differsAt: number | null;
}

/** Round times to be written above the lanes, in the unit, some 110 pixels apart. */
function ticks(from: number, to: number, width: number): number[] {
  const rough = ((to - from) * 110) / Math.max(1, width);
  const power = 10 ** Math.floor(Math.log10(Math.max(rough, 1e-9)));
  const step = [1, 2, 5, 10].map((by) => by * power).find((size) => size >= rough) ?? power;
  const out: number[] = [];
  for (let at = Math.ceil(from / step) * step; at <= to && out.length < 100; at += step) out.push(Number(at.toPrecision(12)));
  return out;
}

function Bit({ lane, x, from, to, least }: { lane: Lane; x: (time: number) => number; from: number; to: number; least: number }) {
  const parts = stretches(lane.signal, from, to, least);
  let path = "";
  const shapes = parts.map((part, at) => {
    const [left, right] = [x(part.from), x(part.to)];
    if (part.crowd) return <rect key={at} class="crowd" x={left} y={HIGH} width={Math.max(1, right - left)} height={LOW - HIGH} />;
    if (part.bits !== "0" && part.bits !== "1") return <rect key={at} class={`unknown ${part.bits === "z" ? "floating" : ""}`} x={left} y={HIGH} width={Math.max(1, right - left)} height={LOW - HIGH}><title>{part.bits}</title></rect>;
    const level = part.bits === "1" ? HIGH : LOW;
    path += `${path && !parts[at - 1]?.crowd ? "L" : "M"}${left},${level}L${right},${level}`;
    return null;
  });
  return <>{shapes}<path class="wave" d={path} /></>;
}

function Bus({ lane, x, from, to, least, radix }: { lane: Lane; x: (time: number) => number; from: number; to: number; least: number; radix: Radix }) {
  const middle = (HIGH + LOW) / 2;
  return (
    <>
      {stretches(lane.signal, from, to, least).map((part, at) => {
        const [left, right] = [x(part.from), x(part.to)];
        if (part.crowd) return <rect key={at} class="crowd" x={left} y={HIGH} width={Math.max(1, right - left)} height={LOW - HIGH} />;
        const slant = Math.min(4, (right - left) / 2);
        const value = formatted(part.bits, radix);
        const room = Math.floor((right - left - 8) / 7.2);
        const text = value.length <= room ? value : room >= 3 ? `${value.slice(0, room - 1)}…` : "";
        return (
          <g key={at}>
            <path class={`bus ${/x/.test(part.bits) ? "unknown" : part.bits.includes("z") ? "unknown floating" : ""}`} d={`M${left},${middle}L${left + slant},${HIGH}L${right - slant},${HIGH}L${right},${middle}L${right - slant},${LOW}L${left + slant},${LOW}Z`}><title>{brief(value, 300)}</title></path>
            {text && <text x={(left + right) / 2} y={middle + 4} text-anchor="middle">{text}</text>}
          </g>
        );
      })}
    </>
  );
}

export function Lanes({ lanes, from, to, width, radix, unit, fail, differsAt }: Props) {
  const x = (time: number): number => Math.round(((time - from) / (to - from)) * width * 10) / 10;
  const least = ((to - from) / Math.max(1, width)) * 1.5;
  const tall = HEAD + lanes.length * LANE;
  const within = (time: number | null): time is number => time !== null && time >= from && time <= to;
  return (
    <svg class="waves" width={width} height={tall} viewBox={`0 0 ${width} ${tall}`} role="img" aria-label={`${lanes.length} signals from ${timeIn(unit, from)} to ${timeIn(unit, to)}`}>
      {ticks(from / unit.ticks, to / unit.ticks, width).map((one) => one * unit.ticks).map((time) => <g key={time}><line class="grid" x1={x(time)} x2={x(time)} y1={HEAD} y2={tall} /><text class="tick" x={x(time) + 2} y={14}>{timeIn(unit, time)}</text></g>)}
      {within(differsAt) && <g class="differs-at"><line x1={x(differsAt)} x2={x(differsAt)} y1={HEAD - 4} y2={tall} /><title>first difference to the reference</title></g>}
      {within(fail) && <g class="fail-at"><line x1={x(fail)} x2={x(fail)} y1={HEAD - 4} y2={tall} /><title>the test failed here</title></g>}
      {lanes.map((lane, at) => (
        <g key={lane.key} transform={`translate(0 ${HEAD + at * LANE})`} class={lane.tag === "reference" ? "reference" : lane.failing ? "failing" : ""}>
          {lane.differs.filter(([start, end]) => end > from && start < to).slice(0, 500).map(([start, end]) => <rect key={start} class="differing" x={Math.max(0, x(start))} y={2} width={Math.max(1.5, Math.min(width, x(end)) - Math.max(0, x(start)))} height={LANE - 4} />)}
          {lane.signal.width === 1 ? <Bit lane={lane} x={x} from={from} to={to} least={least} /> : <Bus lane={lane} x={x} from={from} to={to} least={least} radix={radix} />}
        </g>
      ))}
    </svg>
  );
}
