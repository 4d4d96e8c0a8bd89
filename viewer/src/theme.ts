// Light, dark, or as the system says; the choice is kept in the browser.
import { effect, signal } from "@preact/signals";

export type Theme = "system" | "light" | "dark";
const KEY = "rtl-agent-theme";

function kept(): Theme {
  try {
    const value = localStorage.getItem(KEY);
    return value === "light" || value === "dark" ? value : "system";
  } catch {
    return "system"; // no storage for a file opened from disk, in some browsers
  }
}

const system = matchMedia("(prefers-color-scheme: dark)");
const systemDark = signal(system.matches);
system.addEventListener("change", () => (systemDark.value = system.matches));

export const theme = signal<Theme>(kept());
export const dark = signal(false);

effect(() => {
  dark.value = theme.value === "system" ? systemDark.value : theme.value === "dark";
  document.documentElement.dataset["theme"] = dark.value ? "dark" : "light";
  try {
    localStorage.setItem(KEY, theme.value);
  } catch {
    // the choice lasts as long as the page
  }
});

/** A colour of the style sheet, for canvases. */
export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
