// What was asked and answered; for an agent, turn by turn with its commands, observations and why it ended.
import { useState } from "preact/hooks";
import { REPLY } from "./reply";
import { set } from "./route";
import { asText, brief, number, plural } from "./text";
import type { Rollout, Tokens, Turn } from "./types";
import { LongText } from "./ui";

const AT_ONCE = 40;

const ENDINGS: Record<string, string> = {
  submit: "it handed in its work",
  answer: "its last turn had no call",
  passed: "its answer passed",
  max_turns: "it had no turns left",
  max_rounds: "it had no rounds left",
  max_tokens: "it had no tokens left",
  parse_errors: "too many turns in a row had no call that could be read",
  wall_time: "its time was over",
};

/** Why an episode ended, with the word that the record has. */
function ending(reason: string): string {
  if (reason === "") return "no reason given";
  return Object.hasOwn(ENDINGS, reason) ? `${ENDINGS[reason]} (${reason})` : brief(reason, 400);
}

export function Transcript({ of }: { of: Rollout }) {
  const turns = of.turns ?? [];
  const [shown, setShown] = useState(AT_ONCE);
  const ownFiles = turns.length > 0 && !(REPLY in of.files && Object.keys(of.files).length === 1);
  return (
    <div class="transcript">
      <details>
        <summary>Prompt: {plural(of.messages.length, "message")}</summary>
        {of.messages.map((message, at) => <article key={at}><h2 class="minor">{brief(message.role, 30)}</h2><LongText text={asText(message.content)} label={`Message ${at + 1}`} /></article>)}
      </details>
      {turns.slice(0, shown).map((turn, at) => <TurnOf key={at} turn={turn} at={at} written={turn.fault ? writtenIn(of.tokens, at) : ""} />)}
      {turns.length > shown && <button type="button" onClick={() => setShown(shown + AT_ONCE)}>Show more ({plural(turns.length - shown, "turn")})</button>}
      {turns.length > 0 && <p class="notice">Ended after {plural(turns.length, "turn")}: {ending(of.end_reason || of.stop_reason || "")}</p>}
      {ownFiles ? (
        <p>Graded was what it left in its workspace: {Object.keys(of.files).slice(0, 20).map((path, at) => <>{at > 0 && ", "}<code>{brief(path, 120)}</code></>)}. <button type="button" class="plain" onClick={() => set({ tab: "rtl" }, true)}>Look at it</button></p>
      ) : <article><h2 class="minor">{turns.length > 0 ? "Graded answer" : "Answer"}</h2><LongText text={of.text ?? ""} label="Answer" /></article>}
    </div>
  );
}

function callText(call: unknown): [string, string] {
  if (call === null || typeof call !== "object") return ["call", asText(call)];
  const { name, tool, arguments: given, args, command, ...rest } = call as Record<string, unknown>;
  const body = command ?? given ?? args ?? rest;
  if (body !== null && typeof body === "object" && !Array.isArray(body)) {
    return [asText(name ?? tool ?? "call"), Object.entries(body).map(([key, value]) => (asText(value).includes("\n") ? `${key}:\n${asText(value)}` : `${key}: ${asText(value)}`)).join("\n")];
  }
  return [asText(name ?? tool ?? "call"), asText(body)];
}

/** A call that could not be read is in no field of the record: what was sampled tells it. */
function writtenIn(tokens: Tokens | null, turn: number): string {
  return tokens?.turn ? tokens.text.filter((_, at) => tokens.turn?.[at] === turn).join("") : "";
}

function TurnOf({ turn, at, written }: { turn: Turn; at: number; written: string }) {
  const observation = asText(turn.observation);
  return (
    <article class="turn">
      <h2 class="minor">Turn {at + 1} {turn.reward !== null && turn.reward !== undefined && <span class="soft">reward {number(turn.reward)}</span>}</h2>
      {turn.thinking && <details><summary>Thinking ({plural(turn.thinking.length, "character")})</summary><LongText text={turn.thinking} label={`Thinking in turn ${at + 1}`} /></details>}
      {written && <><p class="soft small">As it was written</p><LongText text={written} label={`As turn ${at + 1} was written`} /></>}
      {turn.text && !written && <LongText text={turn.text} label={`Text of turn ${at + 1}`} />}
      {(turn.calls ?? []).map((call, place) => {
        const [name, body] = callText(call);
        return <div class="call" key={place}><p class="soft small">$ {brief(name, 60)}</p><LongText text={body} label={`Command in turn ${at + 1}`} /></div>;
      })}
      {turn.fault && turn.fault !== observation && <p class="failure">{brief(turn.fault, 600)}</p>}
      {observation !== "" && <div class={`observation${turn.fault ? " faulty" : ""}`}><p class="soft small">Observation</p><LongText text={observation} label={`Observation in turn ${at + 1}`} /></div>}
    </article>
  );
}
