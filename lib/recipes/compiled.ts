/**
 * What the compiler makes of a recipe and the runner runs: data, with every name resolved and every default in
 * place. What a person writes is another type, so that a typo in the last step is found before the first runs.
 *
 * @module
 */
import type { Mic } from "../calendars/mod.ts";
import type { Client } from "../client/client.ts";
import type { AsOfNow, RunDay } from "./as_of_now.ts";
import type { StepPermissions } from "./define_step.ts";

import type { ParamType, Type } from "./expressions/value_types.ts";

/** What running a step again could do. */
export type StepEffect = "read" | "local" | "write";

/** Which defaults a recipe has: the strongest step decides. */
export type RecipeClass = "read" | "keep-alive" | "write";

/** A named instant of a session, and how far from it. */
export interface SessionTime {
  /** `close` is the end of continuous trading; `auction-close` the end of the closing auction where there is one. */
  anchor: "open" | "close" | "auction-close";
  /** Elapsed time from the anchor, negative before it. */
  offsetMs: number;
}

/** A part of every session of an exchange. */
export interface SessionSpan {
  mic: Mic;
  from: SessionTime;
  to: SessionTime;
}

/** When a recipe runs by an exchange's sessions. */
export interface CalendarSchedule {
  form: "calendar";
  mic: Mic;
  days:
    | "every-session"
    | "first-session-of-week"
    | "last-session-of-week"
    | "first-session-of-month"
    | "last-session-of-month"
    | "first-session-of-quarter"
    | "last-session-of-quarter";
  /** A moment of the session, or a wall-clock time `HH:MM` in the exchange's zone. */
  at: SessionTime | { time: string };
  halfDays: "run" | "skip" | "only";
}

/** When a recipe runs by a cron pattern in a named zone. */
export interface CronSchedule {
  form: "cron";
  cron: string;
  timezone: string;
  /** Only on days on which this exchange has a session. */
  onlyIn?: Mic;
}

/** When a recipe runs again and again, aligned to the epoch, perhaps only within sessions. */
export interface EverySchedule {
  form: "every";
  everyMs: number;
  while?: SessionSpan;
  /** Most that a slot is moved, by a hash of its run key. */
  jitterMs: number;
}

/** A schedule with the id that its slots are known by. */
export type CompiledSchedule = { id: string } & (CalendarSchedule | CronSchedule | EverySchedule);

/** What happens to slots that were missed. */
export interface MisfirePolicy {
  /** A slot that is later than this is missed. */
  graceMs: number;
  action: "skip" | "latest" | "all" | "ask";
  /** Most missed slots that `all` runs. */
  max: number;
}

/** A recipe, ready to run. */
export interface CompiledRecipe {
  name: string;
  description?: string;
  /** Where it was read from. */
  file: string;
  /** SHA-256 of its text, in hex. */
  sha256: string;
  class: RecipeClass;
  schedules: readonly CompiledSchedule[];
  misfire: MisfirePolicy;
  overlap: "skip" | "queue" | "cancel" | "parallel";
  timeoutMs: number;
  /** Absolute bound after the slot; a run that has not started by then is skipped. */
  deadlineMs?: number;
  /** When a write recipe may act. */
  window?: SessionSpan;
  /** Whether any step touches the trade login, which one run at a time may hold. */
  needsAccount: boolean;
  params: Readonly<Record<string, unknown>>;
  /** In an order in which each step's needs come before it. */
  steps: readonly CompiledStep[];
  notify?: readonly CompiledNotice[];
  /** Where a dead-man service is pinged: an address, or the secret that is one. */
  ping?: { url: string } | { secret: string };
  /** Where the recipe wants to be connected to; whoever runs it has the addresses and logins. */
  connect?: RecipeConnection;
  /** Where the values of its secrets come from, for those that the recipe tells. */
  secrets?: Readonly<Record<string, SecretOrigin>>;
  /** Every secret that a step refers to. */
  secretNames?: readonly string[];
  /** What `params` may hold; `bindParams` checks others against it. */
  paramTypes?: Readonly<Record<string, ParamType>>;
}

/** What is known of another recipe. */
export type KnownRecipe =
  & Pick<CompiledRecipe, "class" | "needsAccount">
  & Partial<
    Pick<
      CompiledRecipe,
      "steps" | "name" | "file" | "params" | "paramTypes" | "connect" | "secrets" | "notify" | "ping"
    >
  >;

/** Something to tell once a run is over. */
export interface CompiledNotice {
  on: "success" | "failure" | "skip" | "always";
  uses: string;
  with: unknown;
  /** Sends it by every channel at once; `outcome` of its context says what became of the run. */
  step: CompiledStep;
  /** The channels one by one, each with a step of its own; `step` alone when absent. */
  channels?: readonly NoticeChannel[];
}

/** One channel of a notice: it is sent, fails and is tried again without regard to the others. */
export interface NoticeChannel {
  /** `webhook`, `chat` or `mail`, or the name of the step that sends. */
  name: string;
  /** It is sent only after another channel of the notice has failed. */
  isFallback: boolean;
  step: CompiledStep;
}

/**
 * What became of a run, as its notices see it. Every member is always there; one that does not apply is an empty
 * text.
 */
export interface NoticeOutcome {
  /** How the run ended, such as `ok` or `failed`. */
  state: string;
  /** Code of the reason, or a person's own words. */
  reason: string;
  /** Id of the step that failed. */
  failedStep: string;
  /** Message of the error that ended that step. */
  error: string;
}

/** Where a recipe wants to be connected to. */
export type RecipeConnection =
  | { to: "gateway"; url?: string }
  | { to: "direct" }
  | { to: "simulator"; seed?: number; at?: string };

/** Where the value of a secret comes from. */
export type SecretOrigin =
  | { env: string }
  | { file: string }
  | { command: readonly string[] };

/** The code of a custom step. */
export interface StepCode {
  /** Paths of its file and of every file that it imports from its folder, sorted. */
  files: readonly string[];
  /** Addresses of the same files, as they are imported. The first is that of the step itself. */
  modules: readonly string[];
  /** SHA-256 over the names and contents of the files, in hex. */
  sha256: string;
  permissions: StepPermissions;
}

/** Something outside the toolkit that the parameters of a step name. */
export interface StepReach {
  kind: "host" | "reads" | "writes";
  /** An address or a path as the recipe has it; it may hold expressions and references to secrets. */
  name: string;
}

/** One step, ready to run. */
export interface CompiledStep {
  id: string;
  /** A step, or an operation of the catalogue. */
  uses: string;
  effect: StepEffect;
  needs: readonly string[];
  /** Whether it touches the trade login, which one run at a time may hold. */
  needsAccount?: boolean;
  timeoutMs?: number;
  /** Reads and local steps alone. */
  retry?: { attempts: number; waitMs: number };
  /** Run again when a run is resumed, instead of reusing its stored output. */
  fresh: boolean;
  /** What it reads that answers as of now, as far as that is known before it runs. */
  asOfNow?: AsOfNow;
  /** What is known of its output before the run. */
  output?: Type;
  /** Steps whose outputs its condition and its parameters read. */
  reads?: readonly string[];
  /** Its parameters as they are written, holes and all. */
  written?: unknown;
  /** Files whose code it runs, for a step of one's own. */
  files?: readonly string[];
  /** What the code of a custom step is and may reach. `"unread"`: nobody has read it, so the step cannot run. */
  code?: StepCode | "unread";
  /** Hosts and paths that its parameters name, as they are written. */
  reaches?: readonly StepReach[];
  /** The recipe that it runs; `"any"` when only the run knows which. */
  runs?: KnownRecipe | "any";
  /** Whether to run, from what is known before it. */
  condition?: (scope: StepScope) => boolean;
  /**
   * Does it; the output is plain data that JSON can hold. One with `ok: false` says that the step did its work and
   * found that something is missing or does not add up.
   */
  run(context: StepContext): Promise<unknown>;
  /** What it would do, for a dry run. */
  plan?(context: StepContext): Promise<unknown>;
}

/** What expressions see: never the clock. */
export interface StepScope {
  recipe: string;
  runKey: string;
  /** Which of the recipe's schedules the slot belongs to; absent for a run started by hand. */
  scheduleId?: string;
  /** The slot, ISO 8601 in UTC. */
  slot: string;
  /** The session that the slot belongs to. */
  session?: { date: string; open: string; close: string; halfDay: boolean };
  previousSession?: { date: string; open: string; close: string; halfDay: boolean };
  params: Readonly<Record<string, unknown>>;
  /** Outputs of earlier steps, by their id. */
  outputs: Readonly<Record<string, unknown>>;
  /** What became of the run; for notices alone. */
  outcome?: NoticeOutcome;
}

/** What a step is handed. */
export interface StepContext extends StepScope {
  /** Sent by a notice in place of its own text: somebody tests its channel. */
  testText?: string;
  /** Run key and step id: the key of whatever the step does outside. */
  stepKey: string;
  /** The day that the run belongs to, whenever it begins. */
  day: RunDay;
  attempt: number;
  signal: AbortSignal;
  now: () => number;
  /** Waits, and rejects once `signal` aborts; a virtual clock brings its own. @default real time */
  sleep?(ms: number): Promise<void>;
  /** The client, connected on first use. Only a step with the effect "write" can write with it. */
  client(): Promise<Client>;
  /**
   * Says what the broker's lists showed of a write whose outcome was unknown. A write that nobody says this of leaves
   * the run `unknown`, also when the step catches the error.
   *
   * @param error The `OutcomeUnknownError` that the write threw.
   * @param outcome `ok` when it was executed, `refused` when it was not and cannot be any more.
   */
  proven?(error: unknown, outcome: "ok" | "refused"): void;
  /** Folder for files. */
  out: string;
  /** Files go nowhere else, not even where an absolute path says so: a dry run. */
  keepWithin?: boolean;
  log(
    level: "debug" | "info" | "warn" | "error",
    message: string,
    data?: Readonly<Record<string, unknown>>,
  ): void;
  /** Tells how far it is; `detail` is the step's own event, for whoever knows how to show it better. */
  progress(event: { done?: number; total?: number; text: string; detail?: unknown }): void;
  /** Names a file that the step made. */
  artifact(
    file: {
      dataset: string;
      businessDay?: string;
      path: string;
      bytes: number;
      sha256: string;
      final: boolean;
    },
  ): void | Promise<void>;
  /** The value of a secret by its reference; never stored, never shown. */
  secret(name: string): Promise<string>;
  /** Runs another recipe as a step of this one. */
  runRecipe(name: string, params: Readonly<Record<string, unknown>>): Promise<unknown>;
}
