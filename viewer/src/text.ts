// Makes any text safe to look at: invisible and reordering characters are spelled out, numbers are short.

// Controls but tab and newline, soft hyphen, fillers, zero-width and bidirectional characters, variation selectors, tags, lone surrogates.
const HIDDEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}\ud800-\udfff]/gu;

export function visible(text: string): string {
  return text.replaceAll("\r\n", "\n").replace(
    HIDDEN,
    (hidden) => `[U+${(hidden.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}]`,
  );
}

/** One line of it, for cells and titles. */
export function brief(text: string | null | undefined, most = 200): string {
  const cut = (text ?? "").slice(0, most + 1);
  return visible(cut.length > most ? `${cut.slice(0, most)}…` : cut).replaceAll("\n", " ");
}

/** Where a long name may break: after its separators. */
export function parts(name: string): string[] {
  return name.split(/(?<=[._:/-])(?=[^._:/-])/);
}

export function number(value: number | null | undefined, digits = 3): string {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "-∞";
  if (Number.isInteger(value)) return value.toLocaleString("en");
  const size = Math.abs(value);
  if (size >= 1000) return value.toLocaleString("en", { maximumFractionDigits: 0 });
  if (size < 0.001) return value.toExponential(1);
  return value.toFixed(size < 1 ? digits : 2);
}

export function percent(value: number | null | undefined): string {
  return value === null || value === undefined ? "–" : `${(100 * value).toFixed(value === 0 || value === 1 ? 0 : 1)}%`;
}

export function when(seconds: number | null): string {
  if (seconds === null) return "–";
  return new Date(seconds * 1000).toISOString().slice(0, 16).replace("T", " ");
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}

/** How long ago, in one unit. */
export function ago(seconds: number, now = Date.now() / 1000): string {
  const passed = Math.max(0, now - seconds);
  if (passed < 60) return "just now";
  if (passed < 3600) return `${Math.floor(passed / 60)} min ago`;
  if (passed < 86_400) return `${Math.floor(passed / 3600)} h ago`;
  return passed < 86_400 * 14 ? `${Math.floor(passed / 86_400)} d ago` : when(seconds).slice(0, 10);
}

/** Half of a character, which no address can hold, becomes the sign for what is unknown. */
export function wellFormed(text: string): string {
  return text.replace(/[\ud800-\udfff]/gu, "\ufffd");
}

/** Text of any value: what a model or a config holds is not always a string. */
export function asText(value: unknown): string {
  if (typeof value === "string") return value;
  if (value === null || value === undefined) return "";
  return JSON.stringify(value, null, 2);
}
