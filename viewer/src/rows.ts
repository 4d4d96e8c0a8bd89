// The index of a run as rows: reading columns, filtering, grouping.
import type { IndexData, StringColumn } from "./types";

export const TRAINING = "step";

export interface GroupCell {
  group: number;
  kind: string;
  step: number;
  problem: string;
  rows: number[];
  passed: number;
  graded: number;
  noSignal: boolean;
}

export const CHOICES: { key: StringColumn; label: string }[] = [
  { key: "kind", label: "Kind" },
  { key: "family", label: "Family" },
  { key: "category", label: "Category" },
  { key: "difficulty", label: "Difficulty" },
  { key: "outcome", label: "Outcome" },
  { key: "reason", label: "Reason" },
];

/** How many letters all names begin with, up to the end of a word; 0 where numbers alone would be left. */
function sharedBeginning(sorted: string[]): number {
  const [first = "", last = ""] = [sorted[0], sorted[sorted.length - 1]];
  if (sorted.length < 3) return 0;
  let same = 0;
  while (same < Math.min(first.length, last.length) && first[same] === last[same]) same++;
  const end = Math.max(first.lastIndexOf("_", same - 1), first.lastIndexOf("/", same - 1)) + 1;
  return sorted.every((name) => /^[A-Za-z]/.test(name.slice(end))) ? end : 0;
}

const TEXTS = new Set<string>([...CHOICES.map(({ key }) => key), "problem", "end_reason"]);

export class Rows {
  readonly groups = new Map<number, GroupCell>();
  readonly trained: boolean;
  private readonly shared: number;

  constructor(readonly data: IndexData) {
    for (let row = 0; row < data.count; row++) this.add(row);
    // Only training draws a signal from its groups: of an evaluation, equal rewards say nothing of the kind.
    for (const cell of this.groups.values()) cell.noSignal = cell.kind === TRAINING && this.allEqual(cell);
    this.trained = [...this.groups.values()].some((cell) => cell.kind === TRAINING);
    this.shared = sharedBeginning([...new Set([...this.groups.values()].map((cell) => cell.problem))].sort());
  }

  /** A problem's name without the words that all of the run begin with. */
  short(problem: string): string {
    return problem.slice(this.shared);
  }

  private add(row: number): void {
    const group = this.data.columns.group[row] ?? 0;
    let cell = this.groups.get(group);
    if (!cell) {
      cell = { group, kind: this.text("kind", row), step: this.data.columns.step[row] ?? 0, problem: this.text("problem", row), rows: [], passed: 0, graded: 0, noSignal: false };
      this.groups.set(group, cell);
    }
    const outcome = this.text("outcome", row);
    cell.rows.push(row);
    if (outcome === "passed") cell.passed += 1;
    if (outcome !== "error" && outcome !== "lost") cell.graded += 1;
  }

  private allEqual(cell: GroupCell): boolean {
    const rewards = cell.rows.map((row) => this.data.columns.reward[row]).filter((reward) => reward !== null && reward !== undefined);
    return rewards.length > 1 && rewards.every((reward) => Math.abs((reward as number) - (rewards[0] as number)) < 1e-9);
  }

  text(column: StringColumn, row: number): string {
    return this.data.strings[this.data.columns[column]?.[row] ?? -1] ?? "";
  }

  groupOf(row: number): GroupCell | undefined {
    return this.groups.get(this.data.columns.group[row] ?? -1);
  }

  /** The values of a column with how often each occurs, the most frequent first. */
  values(column: StringColumn): [string, number][] {
    const counts = new Map<number, number>();
    for (const index of this.data.columns[column] ?? []) counts.set(index, (counts.get(index) ?? 0) + 1);
    return [...counts].map(([index, count]): [string, number] => [this.data.strings[index] ?? "", count]).filter(([text]) => text !== "").sort((a, b) => b[1] - a[1]);
  }

  filter(query: URLSearchParams, found: Set<number> | null): number[] {
    const { strings, columns, count } = this.data;
    const wanted = CHOICES.concat({ key: "problem", label: "" }).flatMap(({ key }) => {
      const value = query.get(key);
      if (!value || !columns[key]) return [];
      return [{ column: columns[key], index: strings.indexOf(value) }];
    });
    const search = (query.get("q") ?? "").trim().toLowerCase();
    const hits = search ? new Set(strings.flatMap((text, index) => (text.toLowerCase().includes(search) ? [index] : []))) : null;
    const signal = query.get("signal");
    const rows: number[] = [];
    for (let row = 0; row < count; row++) {
      if (!wanted.every(({ column, index }) => column[row] === index)) continue;
      if (hits && !hits.has(columns.problem[row] ?? -1) && !hits.has(columns.reason[row] ?? -1) && !found?.has(row)) continue;
      if (signal && this.groupOf(row)?.noSignal !== (signal === "none")) continue;
      rows.push(row);
    }
    return this.sorted(rows, query.get("sort") ?? "");
  }

  /** By a column, strings by their letters; without one the training steps come first, then evaluations. */
  private sorted(rows: number[], key: string): number[] {
    const { columns, strings } = this.data;
    const name = key.replace(/^-/, "") as keyof IndexData["columns"];
    if (!columns[name]) return this.inOrder(rows);
    const sign = key.startsWith("-") ? -1 : 1;
    let column: (number | null)[] = columns[name];
    if (TEXTS.has(name)) {
      const places = new Map([...strings.keys()].sort((a, b) => ((strings[a] ?? "") < (strings[b] ?? "") ? -1 : 1)).map((index, place) => [index, place]));
      column = columns[name].map((index) => places.get(index ?? -1) ?? -1);
    }
    const of = (row: number): number => column[row] ?? Number.NEGATIVE_INFINITY;
    return rows.sort((a, b) => (of(a) === of(b) ? a - b : of(a) < of(b) ? -sign : sign));
  }

  private inOrder(rows: number[]): number[] {
    const kinds = [...new Set(rows.map((row) => this.text("kind", row)))];
    if (kinds.length < 2) return rows;
    return kinds.sort(byKind).flatMap((kind) => rows.filter((row) => this.text("kind", row) === kind));
  }

  /** The groups of the same problem and kind, by step. */
  steps(row: number): GroupCell[] {
    const own = this.groupOf(row);
    if (!own) return [];
    return [...this.groups.values()].filter((cell) => cell.kind === own.kind && cell.problem === own.problem).sort((a, b) => a.step - b.step);
  }
}

const KIND_ORDER = ["step", "eval", "teacher"];

/** Training first, then evaluations, then the rest by name. */
export function byKind(a: string, b: string): number {
  const at = (kind: string): number => (KIND_ORDER.indexOf(kind) + KIND_ORDER.length + 1) % (KIND_ORDER.length + 1);
  return at(a) - at(b) || (a < b ? -1 : a > b ? 1 : 0);
}
