/**
 * What to type after a working folder is written, word for word.
 *
 * @module
 */
import { calendarZone, previousSession, sessionOn } from "../../../../lib/calendars/mod.ts";
import type { Host } from "../../host.ts";
import type { Answers } from "./answers.ts";
import { quoted } from "./work_folder.ts";

/** A command line and what it does. */
export interface NextStep {
  command: string;
  text: string;
}

/** The commands to try, in order. */
export function nextSteps(answers: Answers, host: Pick<Host, "env" | "now">): NextStep[] {
  const { way, folder } = answers;
  const deno = denoCommand(host);
  const step = (words: string, text: string) => ({ command: `${deno} task hsgate ${words}`, text });
  return [
    ...folder.path === "." ? [] : [{ command: `cd ${quoted(folder.path)}`, text: "" }],
    ...way === "direct"
      ? [
        step(
          "keys new --out secrets",
          "the pair of keys; then fill in hsgate.yaml, which says what is missing",
        ),
      ]
      : [],
    ...way === "simulator" ? [] : [step("doctor", "says in words what is missing or wrong")],
    step("check", "checks the recipes"),
    step("next", "when they will run"),
    step("run end_of_day", "exports the last five trading days into out/"),
    step("schedule", "runs every recipe when it is due, until Ctrl-C"),
    step("runs", "what has run"),
    step(`why end-of-day ${lastDay(answers, host.now())}`, "what happened on a day, or why nothing did"),
    { command: `${deno} task fees`, text: "the script fees.ts: what a week of trades cost" },
  ];
}

/** Whoever has Deno through npm alone types it that way. */
export function denoCommand({ env }: Pick<Host, "env">): string {
  return env("npm_command") === "exec" ? `npx -y deno@${Deno.version.deno}` : "deno";
}

/** The last day with a session that has begun, where the calendar knows. */
function lastDay({ calendar }: Answers, now: number): string {
  const today = Temporal.Instant.fromEpochMilliseconds(now).toZonedDateTimeISO(calendarZone[calendar])
    .toPlainDate().toString();
  const session = sessionOn(calendar, today);
  if (session === "unknown") return today;
  if (session !== "closed" && session.openAt <= now) return today;
  return previousSession(calendar, today).date;
}
