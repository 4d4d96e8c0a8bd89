// The problem x step matrix on a canvas that draws only what is in sight; hatched cells are groups without signal.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { go, groupLink } from "./route";
import { byKind, type GroupCell, type Rows } from "./rows";
import { useNarrow } from "./rollout_list";
import { brief, number, plural } from "./text";
import { colour, dark } from "./theme";

const CELL = 20;
const HEAD = 34;
const TALLEST = 340;

interface Table {
  problems: string[];
  columns: { kind: string; step: number }[];
  cells: Map<string, GroupCell>;
}

function table(rows: Rows, list: number[]): Table {
  const problems = new Set<string>();
  const columns = new Map<string, { kind: string; step: number }>();
  const cells = new Map<string, GroupCell>();
  for (const row of list) {
    const cell = rows.groupOf(row);
    if (!cell) continue;
    problems.add(cell.problem);
    columns.set(`${cell.kind}\n${cell.step}`, { kind: cell.kind, step: cell.step });
    cells.set(`${cell.problem}\n${cell.kind}\n${cell.step}`, cell);
  }
  return {
    problems: [...problems].sort(),
    columns: [...columns.values()].sort((a, b) => byKind(a.kind, b.kind) || a.step - b.step),
    cells,
  };
}

function cellAt(of: Table, x: number, y: number): GroupCell | undefined {
  const column = of.columns[x];
  return column && of.cells.get(`${of.problems[y]}\n${column.kind}\n${column.step}`);
}

function sentence(rows: Rows, cell: GroupCell): string {
  const rewards = cell.rows.map((row) => number(rows.data.columns.reward[row], 2)).join(", ");
  const signal = cell.noSignal ? "; no signal: all rewards are equal" : "";
  return `${brief(cell.problem, 80)}, ${cell.kind} ${cell.step}: ${cell.passed} of ${plural(cell.rows.length, "rollout")} passed${signal}; rewards ${rewards}`;
}

function hatch(pen: CanvasRenderingContext2D, x: number, y: number, size: number): void {
  pen.save();
  pen.beginPath();
  pen.rect(x, y, size, size);
  pen.clip();
  pen.beginPath();
  for (let at = -size; at < size; at += 5) {
    pen.moveTo(x + at, y + size);
    pen.lineTo(x + at + size, y);
  }
  pen.stroke();
  pen.restore();
}

interface View {
  left: number;
  top: number;
  width: number;
  height: number;
  names: number;
  cursor: [number, number] | null;
}

function draw(canvas: HTMLCanvasElement, of: Table, view: View): void {
  const pen = canvas.getContext("2d");
  if (!pen) return;
  const ratio = devicePixelRatio || 1;
  canvas.width = view.width * ratio;
  canvas.height = view.height * ratio;
  pen.scale(ratio, ratio);
  pen.fillStyle = colour("panel");
  pen.fillRect(0, 0, view.width, view.height);
  const shades = Array.from({ length: 5 }, (_, at) => colour(`share${at}`));
  const [ink, soft, rule, none] = [colour("ink"), colour("soft"), colour("rule"), colour("c5")];
  const firstColumn = Math.floor(view.left / CELL);
  const lastColumn = Math.min(of.columns.length, Math.ceil((view.left + view.width - view.names) / CELL));
  const firstRow = Math.floor(view.top / CELL);
  const lastRow = Math.min(of.problems.length, Math.ceil((view.top + view.height - HEAD) / CELL));
  pen.save();
  pen.beginPath();
  pen.rect(view.names, HEAD, view.width, view.height);
  pen.clip();
  pen.lineWidth = 1.3;
  for (let y = firstRow; y < lastRow; y++) {
    for (let x = firstColumn; x < lastColumn; x++) {
      const cell = cellAt(of, x, y);
      if (!cell) continue;
      const at: [number, number] = [view.names + x * CELL - view.left + 1, HEAD + y * CELL - view.top + 1];
      pen.fillStyle = cell.graded === 0 ? none : (shades[Math.round((4 * cell.passed) / cell.graded)] ?? none);
      pen.fillRect(at[0], at[1], CELL - 2, CELL - 2);
      pen.strokeStyle = ink;
      if (cell.noSignal) hatch(pen, at[0], at[1], CELL - 2);
    }
  }
  if (view.cursor) {
    pen.strokeStyle = colour("c0");
    pen.lineWidth = 3;
    pen.strokeRect(view.names + view.cursor[0] * CELL - view.left, HEAD + view.cursor[1] * CELL - view.top, CELL, CELL);
  }
  pen.restore();
  pen.font = "12px system-ui, sans-serif";
  pen.textBaseline = "middle";
  pen.save();
  pen.beginPath();
  pen.rect(0, HEAD, view.names - 6, view.height);
  pen.clip();
  pen.fillStyle = ink;
  for (let y = firstRow; y < lastRow; y++) pen.fillText(brief(of.problems[y], 60), 6, HEAD + y * CELL - view.top + CELL / 2);
  pen.restore();
  pen.save();
  pen.beginPath();
  pen.rect(view.names, 0, view.width, HEAD);
  pen.clip();
  pen.fillStyle = soft;
  const every = Math.max(1, ...of.columns.slice(-1).map((column) => Math.ceil((String(column.step).length * 7.5 + 4) / CELL)));
  for (let x = firstColumn; x < lastColumn; x++) {
    const column = of.columns[x];
    if (!column) continue;
    const left = view.names + x * CELL - view.left;
    const opens = x === 0 || of.columns[x - 1]?.kind !== column.kind;
    if (opens || x === firstColumn) pen.fillText(brief(column.kind, 12), left + 2, 9);
    if (x % every === 0 || opens) pen.fillText(String(column.step), left + 2, 25);
    if (opens && x > 0) {
      pen.fillStyle = rule;
      pen.fillRect(left - 1, 0, 1, HEAD);
      pen.fillStyle = soft;
    }
  }
  pen.restore();
}

export function Matrix({ run, rows, list }: { run: string; rows: Rows; list: number[] }) {
  const narrow = useNarrow();
  const of = useMemo(() => table(rows, list), [rows, list]);
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [cursor, setCursor] = useState<[number, number] | null>(null);
  const names = narrow ? 120 : 230;
  const isDark = dark.value;
  const height = Math.min(TALLEST, HEAD + of.problems.length * CELL + 14);
  useEffect(() => {
    const scroller = box.current;
    if (!scroller) return;
    let frame = 0;
    const paint = (): void => {
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(() => {
        if (canvas.current) draw(canvas.current, of, { left: scroller.scrollLeft, top: scroller.scrollTop, width: scroller.clientWidth, height: scroller.clientHeight, names, cursor });
      });
    };
    const watch = new ResizeObserver(paint);
    watch.observe(scroller);
    scroller.addEventListener("scroll", paint, { passive: true });
    paint();
    return () => {
      cancelAnimationFrame(frame);
      watch.disconnect();
      scroller.removeEventListener("scroll", paint);
    };
  }, [of, cursor, names, isDark, height]);
  const at = (event: MouseEvent): [number, number] | null => {
    const scroller = box.current;
    if (!scroller) return null;
    const frame = scroller.getBoundingClientRect();
    const x = Math.floor((event.clientX - frame.left - names + scroller.scrollLeft) / CELL);
    const y = Math.floor((event.clientY - frame.top - HEAD + scroller.scrollTop) / CELL);
    return event.clientX - frame.left > names && event.clientY - frame.top > HEAD && cellAt(of, x, y) ? [x, y] : null;
  };
  const open = (place: [number, number] | null): void => {
    const cell = place && cellAt(of, place[0], place[1]);
    if (cell) go(groupLink(run, cell.group));
  };
  const keys = (event: KeyboardEvent): void => {
    const move = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (event.key === "Enter") open(cursor);
    if (!move || !box.current) return;
    event.preventDefault();
    event.stopPropagation();
    const x = Math.max(0, Math.min(of.columns.length - 1, (cursor?.[0] ?? -1) + (move[0] ?? 0)));
    const y = Math.max(0, Math.min(of.problems.length - 1, (cursor?.[1] ?? 0) + (move[1] ?? 0)));
    setCursor([x, y]);
    const { clientWidth, clientHeight, scrollLeft, scrollTop } = box.current;
    box.current.scrollLeft = Math.min(x * CELL, Math.max(scrollLeft, (x + 1) * CELL - clientWidth + names));
    box.current.scrollTop = Math.min(y * CELL, Math.max(scrollTop, (y + 1) * CELL - clientHeight + HEAD));
  };
  const under = cursor && cellAt(of, cursor[0], cursor[1]);
  return (
    <figure class="matrix">
      <figcaption>
        <strong>Problem × step</strong>
        <span class="scale" aria-hidden="true">none passed {[0, 1, 2, 3, 4].map((share) => <span key={share} class={`swatch share${share}`} />)} all passed <span class="swatch hatched" /> no signal (all rewards equal) <span class="swatch ungraded" /> not graded</span>
      </figcaption>
      <div
        ref={box} class="matrix-box" style={{ height: `${height}px` }} tabIndex={0} role="application"
        aria-label="Problem by step matrix. Arrow keys move between groups, Enter opens one. The table of rollouts below holds the same." onKeyDown={keys}
        onMouseMove={(event) => setCursor(at(event))} onMouseLeave={() => setCursor(null)} onClick={(event) => open(at(event))}
      >
        <canvas ref={canvas} aria-hidden="true" />
        <div class="matrix-space" style={{ width: `${names + of.columns.length * CELL}px`, height: `${HEAD + of.problems.length * CELL}px` }} />
      </div>
      <p class="reading small" role="status">{under ? sentence(rows, under) : "\u00a0"}</p>
    </figure>
  );
}
