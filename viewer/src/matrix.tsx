// The problem x step matrix on a canvas that draws only what is in sight; hollow, hatched cells are groups without signal.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { go, groupLink } from "./route";
import { byKind, type GroupCell, type Rows } from "./rows";
import { useNarrow } from "./rollout_list";
import { brief, number, plural } from "./text";
import { colour, dark } from "./theme";

const CELL = 20;
const WIDEST = 34;
const COUNTED = 27; // px: wide enough for "3/4"
const HEAD = 34;
const TALLEST = 340;

interface Table {
  problems: string[];
  names: string[];
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
  const sorted = [...problems].sort();
  return {
    problems: sorted,
    names: sorted.map((name) => brief(rows.short(name), 60)),
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

function hatch(pen: CanvasRenderingContext2D, x: number, y: number, wide: number, tall: number): void {
  pen.save();
  pen.beginPath();
  pen.rect(x, y, wide, tall);
  pen.clip();
  pen.beginPath();
  for (let at = -tall; at < wide; at += 5) {
    pen.moveTo(x + at, y + tall);
    pen.lineTo(x + at + tall, y);
  }
  pen.lineWidth = 1.4;
  pen.stroke();
  pen.restore();
  pen.lineWidth = 1.6;
  pen.strokeRect(x + 0.8, y + 0.8, wide - 1.6, tall - 1.6);
}

interface View {
  left: number;
  top: number;
  width: number;
  height: number;
  names: number;
  wide: number;
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
  const letters = Array.from({ length: 5 }, (_, at) => colour(`on-share${at}`));
  const [ink, soft, rule, none] = [colour("ink"), colour("soft"), colour("rule"), colour("c5")];
  const { wide } = view;
  const firstColumn = Math.floor(view.left / wide);
  const lastColumn = Math.min(of.columns.length, Math.ceil((view.left + view.width - view.names) / wide));
  const firstRow = Math.floor(view.top / CELL);
  const lastRow = Math.min(of.problems.length, Math.ceil((view.top + view.height - HEAD) / CELL));
  pen.save();
  pen.beginPath();
  pen.rect(view.names, HEAD, view.width, view.height);
  pen.clip();
  pen.font = "11px system-ui, sans-serif";
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  for (let y = firstRow; y < lastRow; y++) {
    for (let x = firstColumn; x < lastColumn; x++) {
      const cell = cellAt(of, x, y);
      if (!cell) continue;
      const [left, top] = [view.names + x * wide - view.left + 1, HEAD + y * CELL - view.top + 1];
      const share = cell.graded === 0 ? -1 : Math.round((4 * cell.passed) / cell.graded);
      const shade = shades[share] ?? none;
      if (cell.noSignal) {
        pen.strokeStyle = shade;
        hatch(pen, left, top, wide - 2, CELL - 2);
        continue;
      }
      pen.fillStyle = shade;
      pen.fillRect(left, top, wide - 2, CELL - 2);
      if (wide < COUNTED || cell.rows.length < 2 || cell.rows.length > 9) continue;
      pen.fillStyle = letters[share] ?? ink;
      pen.fillText(`${cell.passed}/${cell.rows.length}`, left + wide / 2 - 1, top + CELL / 2 - 0.5);
    }
  }
  if (view.cursor) {
    pen.strokeStyle = colour("c0");
    pen.lineWidth = 3;
    pen.strokeRect(view.names + view.cursor[0] * wide - view.left, HEAD + view.cursor[1] * CELL - view.top, wide, CELL);
  }
  pen.restore();
  pen.font = "12px system-ui, sans-serif";
  pen.textAlign = "left";
  pen.save();
  pen.beginPath();
  pen.rect(0, HEAD, view.names - 6, view.height);
  pen.clip();
  pen.fillStyle = ink;
  pen.textBaseline = "middle";
  for (let y = firstRow; y < lastRow; y++) pen.fillText(of.names[y] ?? "", 6, HEAD + y * CELL - view.top + CELL / 2);
  pen.restore();
  pen.save();
  pen.beginPath();
  pen.rect(view.names, 0, view.width, HEAD);
  pen.clip();
  pen.fillStyle = soft;
  const every = Math.max(1, ...of.columns.slice(-1).map((column) => Math.ceil((String(column.step).length * 7.5 + 4) / wide)));
  for (let x = firstColumn; x < lastColumn; x++) {
    const column = of.columns[x];
    if (!column) continue;
    const left = view.names + x * wide - view.left;
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
  const longest = useMemo(() => Math.max(0, ...of.names.map((name) => name.length)), [of]);
  const names = Math.min(narrow ? 130 : 260, 16 + Math.ceil(longest * 7));
  const [room, setRoom] = useState(0);
  const wide = Math.max(CELL, Math.min(WIDEST, Math.floor((room - names) / Math.max(1, of.columns.length))));
  const silent = useMemo(() => [...new Set(of.cells.values())].filter((cell) => cell.noSignal).length, [of]);
  const isDark = dark.value;
  const height = Math.min(TALLEST, HEAD + of.problems.length * CELL + 14);
  useEffect(() => {
    const scroller = box.current;
    if (!scroller) return;
    let frame = 0;
    const paint = (): void => {
      setRoom(scroller.clientWidth);
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(() => {
        if (canvas.current) draw(canvas.current, of, { left: scroller.scrollLeft, top: scroller.scrollTop, width: scroller.clientWidth, height: scroller.clientHeight, names, wide, cursor });
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
  }, [of, cursor, names, wide, isDark, height]);
  const at = (event: MouseEvent): [number, number] | null => {
    const scroller = box.current;
    if (!scroller) return null;
    const frame = scroller.getBoundingClientRect();
    const x = Math.floor((event.clientX - frame.left - names + scroller.scrollLeft) / wide);
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
    box.current.scrollLeft = Math.min(x * wide, Math.max(scrollLeft, (x + 1) * wide - clientWidth + names));
    box.current.scrollTop = Math.min(y * CELL, Math.max(scrollTop, (y + 1) * CELL - clientHeight + HEAD));
  };
  const under = cursor && cellAt(of, cursor[0], cursor[1]);
  return (
    <figure class="matrix">
      <figcaption>
        <strong>Problem × step</strong> <span class="soft">{silent > 0 ? `${number(silent)} of ${plural(of.cells.size, "group")} without signal` : plural(of.cells.size, "group")}</span>
        <span class="scale" aria-hidden="true">none passed {[0, 1, 2, 3, 4].map((share) => <span key={share} class={`swatch share${share}`} />)} all passed {rows.trained && <><span class="swatch hatched" /> no signal (all rewards equal)</>} <span class="swatch ungraded" /> not graded</span>
      </figcaption>
      <div
        ref={box} class="matrix-box" style={{ height: `${height}px` }} tabIndex={0} role="application"
        aria-label="Problem by step matrix. Arrow keys move between groups, Enter opens one. The table of rollouts below holds the same." onKeyDown={keys}
        onMouseMove={(event) => setCursor(at(event))} onMouseLeave={() => setCursor(null)} onClick={(event) => open(at(event))}
      >
        <canvas ref={canvas} aria-hidden="true" />
        <div class="matrix-space" style={{ width: `${names + of.columns.length * wide}px`, height: `${HEAD + of.problems.length * CELL}px` }} />
      </div>
      <p class="reading small" role="status">{under ? sentence(rows, under) : "\u00a0"}</p>
    </figure>
  );
}
