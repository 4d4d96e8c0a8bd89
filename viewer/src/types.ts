// The shapes of the data that the Python side serves; every string may be hostile, every number may be null.

export type Num = number | null;

export interface RunSummary {
  id: string;
  name: string;
  path: string;
  kind: "run" | "eval";
  student: string | null;
  teacher: string | null;
  mode: string | null;
  steps: Num;
  running: boolean;
  written: Num;
  seed: Num;
  group: string;
  rollouts: Num;
  headline: { pass_rate: Num; reward: Num; teacher_kl: Num } | null;
}

export interface RunList {
  root: string;
  runs: RunSummary[];
  left_out?: string[];
}

export interface Run extends RunSummary {
  config: Record<string, unknown> | null;
  command: string | null;
  resumed_by: string | null;
  series: Record<string, [number, Num][]>;
  exam: Record<string, unknown> | null;
  criteria: unknown[] | null;
  generation: number;
}

export type IntColumn = "step" | "line" | "tests" | "tests_passed" | "tokens" | "turns" | "group" | "sample";
export type StringColumn =
  | "kind" | "problem" | "family" | "category" | "difficulty" | "outcome" | "reason" | "end_reason";
export type NumberColumn = "reward" | "kl_mean" | "kl_max";

export interface IndexData {
  count: number;
  generation: number;
  strings: string[];
  columns: Record<IntColumn | StringColumn, number[]> & Record<NumberColumn, Num[]>;
}

export type Files = Record<string, string>;

export interface TestResult {
  name: string;
  passed: boolean | null;
  message: string | null;
  time_ns: Num;
  where: string | null;
  service: string;
  item: string;
}

export interface Diagnostic {
  tool: string;
  severity: string;
  file: string;
  line: number;
  text: string;
  column: number;
}

export interface Grade {
  outcome: string;
  stages: { name: string; passed: boolean | null; score: number; notes: string[] }[];
  tests: TestResult[];
  diagnostics: Diagnostic[];
  reward: { parts: Record<string, number>; total: number; maximum: number };
  reasons: string[];
  timings: Record<string, number>;
  tools: Record<string, string>;
  seed: number;
  path: string;
  path_reason: string;
  log: string;
}

export interface Turn {
  text: string | null;
  thinking: string | null;
  calls: unknown[] | null;
  fault: string | null;
  observation: unknown;
  reward: Num;
}

export interface Tokens {
  text: string[];
  turn: number[] | null;
  logprob: Num[] | null;
  teacher: Num[] | null;
  kl: Num[] | null;
  entropy: Num[] | null;
  advantage: Num[] | null;
  top: ([string, number][] | null)[] | null;
  chunk: number[] | null;
}

export interface Version {
  row: Num;
  step: Num;
  files: Files;
  outcome: string | null;
}

export interface Rollout {
  row: number;
  kind: string;
  step: number;
  problem_id: string;
  family: string | null;
  level: unknown;
  stop_reason: string | null;
  end_reason: string | null;
  lost: unknown;
  messages: { role: string; content: unknown }[];
  text: string | null;
  files: Files;
  grade: Grade | null;
  interface: string[] | null;
  reward: Num;
  reward_parts: Record<string, number> | null;
  turns: Turn[] | null;
  tokens: Tokens | null;
  specification: string | null;
  reference: Files | null;
  before: Version | null;
  after: Version | null;
  teacher: Version | null;
  commands: { about: string; command: string }[];
  siblings: number[];
  waves?: string[];
}

export interface Group {
  group: number;
  rows: number[];
  tests: string[];
  results: (boolean | null)[][];
  files: Files[];
  outcomes: string[];
  rewards: Num[];
}

export interface Signal {
  name: string;
  width: number;
  direction: "input" | "output" | "inner";
  changes: [number, string][];
}

export interface Waves {
  status: "ok" | "error" | "waiting";
  message: string;
  notes: string[];
  reference: boolean;
  timescale: string;
  from: number;
  to: number;
  fail_time: Num;
  differs_at: Num;
  failing_signal: string | null;
  expected: string | null;
  got: string | null;
  signals: Signal[];
  truncated: boolean;
  file: string;
}
