// The page: header, the screen that the address names, keys and their help.
import { signal } from "@preact/signals";
import { render } from "preact";
import { useEffect, useRef } from "preact/hooks";
import "./style/base.css";
import "./style/screens.css";
import "./style/uplot.css";
import { GroupScreen } from "./group";
import { RolloutScreen } from "./rollout";
import { filters, go, link, route, runLink } from "./route";
import { RunScreen } from "./run";
import { Runs } from "./runs";
import { brief } from "./text";
import { theme, type Theme } from "./theme";
import { Choice } from "./ui";

const help = signal(false);

const KEYS: [string, string][] = [
  ["← →", "previous and next rollout, or group, of the list"],
  ["[ ] or Shift ↑ ↓", "the same problem at the earlier and later step"],
  ["/", "search"],
  ["Escape", "one level up"],
  ["?", "this help"],
  ["in the matrix", "arrows move, Enter opens the group"],
  ["in the tokens", "← → move from token to token"],
  ["in the waves", "← → pan, + and - zoom, 0 shows all, n and p go along the changes of the first signal; Ctrl + wheel zooms, Shift + wheel pans"],
];

function up(): void {
  const { screen, run } = route.value;
  if (screen === "rollout" || screen === "group") go(runLink(run, filters()));
  else if (screen === "run") go(link("runs"));
}

/** Puts the cursor into the search, at once or as soon as the screen that has one is there. */
function search(frames = 120): void {
  const field = document.getElementById("search");
  if (field) field.focus();
  else if (frames > 0) requestAnimationFrame(() => search(frames - 1));
}

function onKey(event: KeyboardEvent): void {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  const target = event.target as HTMLElement;
  if (target.matches("input:not([type=checkbox]), textarea, select")) {
    if (event.key === "Escape") target.blur();
    return;
  }
  if (help.value) {
    if (event.key === "Escape" || event.key === "?") help.value = false;
    return;
  }
  const step = event.key === "ArrowLeft" ? "previous" : event.key === "ArrowRight" ? "next"
    : event.key === "[" || (event.shiftKey && event.key === "ArrowUp") ? "earlier"
    : event.key === "]" || (event.shiftKey && event.key === "ArrowDown") ? "later" : null;
  if (step !== null) {
    const to = document.querySelector<HTMLAnchorElement>(`[data-step="${step}"]`)?.getAttribute("href");
    if (to) go(to);
  } else if (event.key === "?") help.value = true;
  else if (event.key === "Escape") up();
  else if (event.key === "/") {
    if (route.value.screen === "rollout" || route.value.screen === "group") up();
    search();
  } else return;
  event.preventDefault();
}

function Help() {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (help.value) dialog.current?.showModal();
    else dialog.current?.close();
  }, [help.value]);
  return (
    <dialog ref={dialog} aria-label="Keys" onClose={() => (help.value = false)}>
      <h2>Keys</h2>
      <table><tbody>{KEYS.map(([key, what]) => <tr key={key}><th scope="row"><kbd>{key}</kbd></th><td>{what}</td></tr>)}</tbody></table>
      <button type="button" onClick={() => (help.value = false)}>Close</button>
    </dialog>
  );
}

function Screen() {
  const { screen, run, number } = route.value;
  if (screen === "run") return <RunScreen key={run} id={run} />;
  if (screen === "group") return <GroupScreen key={`${run} ${number}`} run={run} number={number} />;
  if (screen === "rollout") return <RolloutScreen key={run} run={run} row={number} />;
  return <Runs />;
}

function App() {
  const { screen, run, number } = route.value;
  useEffect(() => {
    document.title = screen === "runs" ? "rtl-agent view" : `${brief(run, 60)}${screen === "run" ? "" : ` ${screen} ${number}`} · rtl-agent view`;
  }, [screen, run, number]);
  const themes: { value: Theme; label: string }[] = [{ value: "system", label: "System" }, { value: "light", label: "Light" }, { value: "dark", label: "Dark" }];
  return (
    <>
      <header class="top">
        <nav aria-label="Path">
          <a href="#/runs" class="home">rtl-agent view</a>
          {screen !== "runs" && <> <span class="soft">/</span> <a href={runLink(run, screen === "run" ? {} : filters())}>{brief(run, 60)}</a></>}
          {(screen === "group" || screen === "rollout") && <> <span class="soft">/ {screen} {number}</span></>}
        </nav>
        <Choice label="Theme" hideLabel value={theme.value} options={themes} onChange={(value) => (theme.value = value as Theme)} />
        <button type="button" aria-label="Keys" onClick={() => (help.value = true)}>?</button>
      </header>
      <main><Screen /></main>
      <Help />
    </>
  );
}

document.addEventListener("keydown", onKey);
const root = document.getElementById("app");
if (root) {
  root.replaceChildren();
  render(<App />, root);
}
