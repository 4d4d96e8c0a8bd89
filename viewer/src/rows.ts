// The index of a run as rows: reading columns, filtering, grouping.
import type { IndexData, StringColumn } from "./types";

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

export class Rows {
  readonly groups = new Map<number, GroupCell>();

  constructor(readonly data: IndexData) {
    for (let row = 0; row < data.count; row++) this.add(row);
    for (const cell of this.groups.values()) cell.noSignal = this.allEqual(cell);
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
    return this.sorted(rows, query.get("sort"));
  }

  private sorted(rows: number[], key: string | null): number[] {
    const { columns } = this.data;
    const name = key?.replace(/^-/, "") as keyof IndexData["columns"] | undefined;
    if (!name || !columns[name]) return rows;
    const column = columns[name];
    const sign = key?.startsWith("-") ? -1 : 1;
    const of = (row: number): number => column[row] ?? Number.NEGATIVE_INFINITY;
    return rows.sort((a, b) => (of(a) === of(b) ? a - b : of(a) < of(b) ? -sign : sign));
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
