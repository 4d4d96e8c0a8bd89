// Values of signals over time: radixes, what is to be drawn in a window, where two signals differ.
import type { Signal } from "./types";

export type Radix = "hex" | "dec" | "signed" | "bin";

export function formatted(bits: string, radix: Radix): string {
  if (bits.length <= 1 || radix === "bin") return bits;
  if (radix === "hex") {
    const padded = bits.padStart(Math.ceil(bits.length / 4) * 4, /^[xz]/i.test(bits) ? (bits[0] ?? "0") : "0");
    return padded.replace(/.{4}/g, (four) => (/^[01]{4}$/.test(four) ? parseInt(four, 2).toString(16) : /^z{4}$/i.test(four) ? "z" : "x"));
  }
  if (!/^[01]+$/.test(bits)) return /^z+$/i.test(bits) ? "z" : "x";
  const value = BigInt(`0b${bits}`);
  return String(radix === "signed" && bits[0] === "1" ? value - (1n << BigInt(bits.length)) : value);
}

export interface Unit {
  name: string;
  ticks: number;
}

const FEMTOSECONDS: Record<string, number> = { s: 1e15, ms: 1e12, us: 1e9, ns: 1e6, ps: 1e3, fs: 1 };

/** The largest unit of which a stretch of time has four, and how many ticks of the file one of it has. */
export function unitOf(timescale: string, span: number): Unit {
  const [, count = "1", given = "ns"] = /^\s*(1|10|100)\s*([munpf]?s)\s*$/.exec(timescale) ?? [];
  const tick = Number(count) * (FEMTOSECONDS[given] ?? 1e6);
  const name = Object.keys(FEMTOSECONDS).find((unit) => (span * tick) / (FEMTOSECONDS[unit] ?? 1) >= 4) ?? given;
  return { name, ticks: (FEMTOSECONDS[name] ?? tick) / tick };
}

/** A time in ticks, to be read. */
export function timeIn(unit: Unit, time: number): string {
  return `${(time / unit.ticks).toLocaleString("en", { maximumFractionDigits: 3 })} ${unit.name}`;
}

/** The last change at or before `time`; -1 before the first. */
export function indexAt(changes: [number, string][], time: number): number {
  let [low, high] = [0, changes.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((changes[middle]?.[0] ?? 0) <= time) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** VCD leaves leading zeros out: every value gets the signal's width. */
export function widened(bits: string, width: number): string {
  const lower = bits.toLowerCase();
  return lower.length >= width ? lower : lower.padStart(width, /^[xz]/.test(lower) ? (lower[0] ?? "0") : "0");
}

export interface Stretch {
  from: number;
  to: number;
  bits: string;
  crowd: boolean;
}

/** The stretches of a signal between two times, those narrower than `least` joined into crowds. */
export function stretches(signal: Signal, from: number, to: number, least: number): Stretch[] {
  const out: Stretch[] = [];
  const { changes } = signal;
  for (let at = Math.max(0, indexAt(changes, from)); at < changes.length; at++) {
    const [time, bits] = changes[at] as [number, string];
    if (time >= to) break;
    const start = Math.max(from, time);
    const end = Math.min(to, changes[at + 1]?.[0] ?? to);
    if (end <= start) continue;
    const before = out[out.length - 1];
    const narrow = end - start < least;
    if (narrow && before?.crowd) before.to = end;
    else out.push({ from: start, to: end, bits: widened(bits, signal.width), crowd: narrow });
  }
  return out;
}

/** Bits that the reference leaves open (x, z) may be anything. */
function differ(candidate: string, reference: string): boolean {
  return candidate !== reference && [...reference].some((bit, at) => (bit === "0" || bit === "1") && bit !== candidate[at]);
}

/** Where a candidate's signal differs from the reference's, as intervals. */
export function differences(a: Signal, b: Signal, from: number, to: number): [number, number][] {
  const times = [...new Set([from, ...a.changes.map(([time]) => time), ...b.changes.map(([time]) => time)])].filter((time) => time >= from && time < to).sort((x, y) => x - y);
  const value = (signal: Signal, time: number): string => widened(signal.changes[indexAt(signal.changes, time)]?.[1] ?? "x", signal.width);
  const out: [number, number][] = [];
  times.forEach((time, at) => {
    if (!differ(value(a, time), value(b, time))) return;
    const end = times[at + 1] ?? to;
    const last = out[out.length - 1];
    if (last && last[1] === time) last[1] = end;
    else out.push([time, end]);
  });
  return out;
}
