// Curves over steps with uPlot: lines, seeds as a mean with a band from the lowest to the highest.
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { number } from "./text";
import { colour, dark } from "./theme";
import type { Num } from "./types";

export interface Curve {
  label: string;
  colour: number;
  points: [number, Num][];
  dash?: number[];
  low?: Map<number, number>;
  high?: Map<number, number>;
}

/** The mean over seeds at each step that at least one of them has. */
export function meanOf(label: string, hue: number, members: [number, Num][][]): Curve {
  const at = new Map<number, number[]>();
  for (const points of members) {
    for (const [step, value] of points) if (value !== null) at.set(step, [...(at.get(step) ?? []), value]);
  }
  const steps = [...at.keys()].sort((a, b) => a - b);
  const values = (step: number): number[] => at.get(step) ?? [];
  return {
    label,
    colour: hue,
    points: steps.map((step) => [step, values(step).reduce((a, b) => a + b, 0) / values(step).length]),
    low: new Map(steps.map((step) => [step, Math.min(...values(step))])),
    high: new Map(steps.map((step) => [step, Math.max(...values(step))])),
  };
}

const LEAST_SMOOTHED = 20; // points; with fewer, a mean over a tenth of them is hardly more than the point itself

export const isSmoothed = (curve: Curve): boolean => curve.points.length >= LEAST_SMOOTHED && !curve.low;

/** Means over a moving tenth of the points, as in the report: at both ends over what there is, on both sides alike. */
function smoothed(points: [number, Num][]): [number, Num][] {
  const known = points.filter((point): point is [number, number] => point[1] !== null);
  const half = Math.max(1, Math.floor(known.length / 20));
  return known.map(([step], at) => {
    const reach = Math.min(half, at, known.length - 1 - at);
    const near = known.slice(at - reach, at + reach + 1);
    return [step, near.reduce((sum, [, value]) => sum + value, 0) / near.length];
  });
}

export function SmoothingNote({ curves }: { curves: Curve[] }) {
  return curves.some(isSmoothed) ? <p class="soft small">Bold lines are moving averages over a tenth of the steps, faint ones the values as measured.</p> : null;
}

function summary(title: string, curves: Curve[]): string {
  const parts = curves.map((curve) => {
    const known = curve.points.filter(([, value]) => value !== null);
    const first = known[0];
    const last = known[known.length - 1];
    return first && last ? `${curve.label}: ${number(first[1])} at step ${first[0]}, ${number(last[1])} at step ${last[0]}` : `${curve.label}: no values`;
  });
  return `${title}. ${parts.join("; ")}`;
}

/** As wide as the longest number beside the chart. */
const roomFor = (_: uPlot, values: string[] | null): number => Math.max(46, 16 + 7 * Math.max(0, ...(values ?? []).map((value) => value.length)));

function build(target: HTMLElement, curves: Curve[], height: number, share: boolean): uPlot {
  const steps = [...new Set(curves.flatMap((curve) => curve.points.map(([step]) => step)))].sort((a, b) => a - b);
  const data: Num[][] = [steps];
  const series: uPlot.Series[] = [{ label: "step" }];
  const bands: uPlot.Band[] = [];
  const add = (values: Map<number, Num>, options: uPlot.Series): number => {
    data.push(steps.map((step) => values.get(step) ?? null));
    return series.push({ spanGaps: true, ...options }) - 1;
  };
  const measured: number[] = [];
  for (const curve of curves) {
    const stroke = colour(`c${curve.colour % 6}`);
    const bold = { stroke, width: 2, dash: curve.dash };
    if (isSmoothed(curve)) {
      measured.push(add(new Map(curve.points), { label: curve.label, stroke: `${stroke}66`, width: 1, points: { show: false } }));
      add(new Map(smoothed(curve.points)), { ...bold, label: "moving average", points: { show: false } });
    } else measured.push(add(new Map(curve.points), { ...bold, label: curve.label, points: { show: curve.points.length < 40, size: 5, fill: stroke } }));
    if (!curve.low || !curve.high) continue;
    const high = add(curve.high, { label: "high", stroke: "transparent", points: { show: false } });
    const low = add(curve.low, { label: "low", stroke: "transparent", points: { show: false } });
    bands.push({ series: [high, low], fill: `${stroke}33` });
  }
  const axis: uPlot.Axis = {
    stroke: colour("soft"), grid: { stroke: colour("rule"), width: 1 }, ticks: { stroke: colour("rule"), width: 1 }, font: "12px system-ui, sans-serif",
  };
  const whole: uPlot.Axis = { ...axis, size: 30, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000] };
  return new uPlot(
    {
      width: target.clientWidth, height, series, bands, title: "",
      axes: [whole, { ...axis, size: roomFor, values: (_, splits) => splits.map((split) => String(Number(split.toPrecision(4)))) }],
      scales: { x: { time: false }, y: share ? { range: [0, 1] } : { range: { min: { pad: 0.1, soft: 0, mode: 2 }, max: { pad: 0.1, soft: 0.01, mode: 2 } } } }, legend: { show: false }, cursor: { drag: { x: true, y: false } },
      hooks: { setCursor: [(plot) => describe(target, plot, curves, measured)] },
    },
    data as uPlot.AlignedData,
    target,
  );
}

/** Under the chart: the values at the pointer. */
function describe(target: HTMLElement, plot: uPlot, curves: Curve[], measured: number[]): void {
  const line = target.parentElement?.querySelector(".reading");
  if (!line) return;
  const at = plot.cursor.idx;
  if (at === null || at === undefined) {
    line.textContent = "";
    return;
  }
  const parts = curves.map((curve, place) => `${curves.length > 1 ? `${curve.label} ` : ""}${number(plot.data[measured[place] ?? 0]?.[at])}`);
  line.textContent = `step ${plot.data[0][at]}: ${parts.join(" · ")}`;
}

export function Chart({ title, curves, height = 190, share = false, legend = false }: { title: string; curves: Curve[]; height?: number; share?: boolean; legend?: boolean }) {
  const target = useRef<HTMLDivElement>(null);
  const isDark = dark.value;
  useEffect(() => {
    const element = target.current;
    if (!element) return;
    const plot = build(element, curves, height, share);
    const watch = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height }));
    watch.observe(element);
    return () => {
      watch.disconnect();
      plot.destroy();
    };
  }, [title, curves, height, share, isDark]);
  return (
    <figure class="chart" aria-label={title}>
      <figcaption><strong>{title}</strong> <span class="reading soft" /></figcaption>
      <div ref={target} role="img" aria-label={summary(title, curves)} />
      {legend && curves.length > 1 && <Legend curves={curves} />}
    </figure>
  );
}

export function Legend({ curves }: { curves: Curve[] }) {
  return (
    <ul class="legend">
      {curves.map((curve) => <li key={curve.label} class={`c${curve.colour % 6}`}><span class={curve.dash ? "key dashed" : "key"} /> <span class="ink">{curve.label}</span></li>)}
    </ul>
  );
}

const FIRST = [/^(test|eval)\/env\/all\/pass_rate/, /^env\/all\/pass_rate/, /^(test|eval|new|exam)\/.*pass|held/, /pass_rate/, /reward\/total$|^reward$|reward/, /teacher_kl$/, /kl/, /^eval/, /loss/, /entropy|length|tokens/];

/** Whether a metric is a share of a whole, whose chart goes from 0 to 1. */
export const isShare = (metric: string): boolean => /(^|[/_])(pass_rate|tests_passed|format_valid|syntax_valid|no_signal)(\/mean)?$/.test(metric) && !metric.includes("/reward/");

/** Pass rate, reward, KL and held-out first, then by name. */
export function ordered(metrics: string[]): string[] {
  const rank = (metric: string): number => {
    const at = FIRST.findIndex((pattern) => pattern.test(metric));
    return at < 0 ? FIRST.length : at;
  };
  return metrics.sort((a, b) => rank(a) - rank(b) || a.length - b.length || (a < b ? -1 : 1));
}
