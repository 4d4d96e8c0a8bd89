// A list that draws only the rows in sight; all rows have the same height.
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

interface Props {
  count: number;
  rowHeight: number;
  most: number;
  label: string;
  class?: string;
  role?: "table" | "group";
  head?: ComponentChildren;
  reveal?: number | null;
  render: (index: number) => ComponentChildren;
}

const OVERSCAN = 8;
// Browsers lose precision in elements beyond some 16 million pixels.
const TALLEST = 8_000_000;

export function VirtualList(props: Props) {
  const { count, rowHeight, most, reveal } = props;
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [tall, setTall] = useState(most);
  const shownCount = Math.min(count, Math.floor(TALLEST / rowHeight));
  useLayoutEffect(() => {
    if (box.current) setTall(box.current.clientHeight);
  }, [count, most, rowHeight]);
  useEffect(() => {
    const element = box.current;
    if (!element || reveal === null || reveal === undefined || reveal < 0) return;
    const at = reveal * rowHeight;
    if (at < element.scrollTop || at > element.scrollTop + element.clientHeight - 2 * rowHeight) {
      element.scrollTop = Math.max(0, at - element.clientHeight / 3);
    }
  }, [reveal, rowHeight]);
  const first = Math.max(0, Math.floor(top / rowHeight) - OVERSCAN);
  const last = Math.min(shownCount, Math.ceil((top + tall) / rowHeight) + OVERSCAN);
  const rows = [];
  for (let index = first; index < last; index++) rows.push(props.render(index));
  return (
    <div
      ref={box} class={`virtual ${props.class ?? ""}`} role={props.role ?? "group"} aria-label={props.label} tabIndex={0}
      aria-rowcount={props.role === "table" ? count : undefined}
      style={{ maxHeight: `${most}px` }} onScroll={(event) => setTop(event.currentTarget.scrollTop)}
    >
      {props.head}
      <div class="virtual-space" role={props.role === "table" ? "rowgroup" : undefined} style={{ height: `${shownCount * rowHeight}px` }}>
        <div class="virtual-rows" role={props.role === "table" ? "presentation" : undefined} style={{ transform: `translateY(${first * rowHeight}px)` }}>{rows}</div>
      </div>
    </div>
  );
}
