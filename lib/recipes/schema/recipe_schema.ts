/**
 * Defines the schema of a recipe file. The validation and the JSON Schema for editors come from it.
 * `recipe_source.ts` declares the types.
 *
 * @module
 */
import * as z from "zod";
import type { Mic } from "../../calendars/mod.ts";
import { isLimit, limitNames, limitTable } from "../../client/limits.ts";
import {
  durationExpected,
  durationPattern,
  explainAt,
  halfDayRules,
  mics,
  readAt,
  readDuration,
  sessionDays,
  spanExpected,
} from "../compile/written_times.ts";
import { holdsToken, secretAddress } from "./open_addresses.ts";
import { readInstant } from "../../time.ts";

const NAME = /^[a-z0-9][a-z0-9-]*$/;
const nameText = (what: string) =>
  z.string().regex(NAME, "a name of small letters, digits and hyphens").meta({ description: what });

/** A duration as text. */
const duration = z.string({
  error: ({ input }) =>
    typeof input === "number" && Number.isSafeInteger(input) && input >= 0
      ? `a span of time with its unit: "${input}s" or "${input}m"`
      : durationExpected,
}).regex(durationPattern, durationExpected).meta({
  description: "Duration, such as 45m, 1h30m or 90s",
});

/** A duration above zero. */
export const someTime = duration.refine(
  (text) => readDuration(text) !== 0,
  'a duration above zero, such as "1m"',
);

/** A calendar, by its market identifier code. */
// The list contains every code, and is not empty.
export const calendar = z.enum(mics as [Mic, ...Mic[]]);

/** A part of a session, `XHKG.open-30m..XHKG.close+2h`. */
const span = z.string().regex(/^\s*[A-Z_]+\.\S+\.\.\s*[A-Z_]+\.\S+\s*$/, spanExpected);

const scheduleId = nameText("Name of the schedule; part of the key of each of its runs").optional();

const calendarForm = z.strictObject({
  id: scheduleId,
  calendar,
  days: z.enum(sessionDays).optional().meta({
    description: "Sessions that have a slot; every session by default",
  }),
  at: z.string().refine((text) => readAt(text) !== undefined, {
    error: ({ input }) => explainAt(String(input)),
  })
    .meta({
      description: "Session time (close+45m, open-10m, auction-close) or time of day (09:25)",
    }),
  halfDays: z.enum(halfDayRules).optional().meta({
    description: "Whether half-days have a slot: run (default), skip, or only half-days",
  }),
}).meta({ description: "By the sessions of an exchange (`calendar`)" });

const cronForm = z.strictObject({
  id: scheduleId,
  cron: z.string().meta({
    description: "Minute, hour, day of the month, month, day of the week",
  }),
  timezone: z.string('a time zone such as "Asia/Hong_Kong"').meta({
    description: "Name of the time zone, such as Asia/Hong_Kong; hsgate never uses the machine's own zone",
  }),
  onlyIn: calendar.optional().meta({
    description: "The schedule has slots only on days on which this exchange has a session",
  }),
}).meta({ description: "By a cron pattern (`cron`)" });

const everyForm = z.strictObject({
  id: scheduleId,
  every: duration.meta({ description: "Interval between slots, counted from 1970-01-01 UTC, such as 50m" }),
  while: span.optional().meta({
    description: "Part of the session that has slots, such as XHKG.open-30m..XHKG.close+2h",
  }),
  jitter: duration.optional().meta({ description: "Largest delay that hsgate adds to a slot, such as 2m" }),
}).meta({ description: "At a fixed interval (`every`)" });

/** Limits that a recipe may narrow. `liveTrading` is not one of them: a recipe has `live` instead. */
const recipeLimits = limitNames.filter((name) => name !== "liveTrading");

const SEED = "a whole number from 0 to 4294967295";

const schedule = z.union([calendarForm, cronForm, everyForm]);

const paramType = z.enum(["text", "number", "integer", "boolean", "decimal", "date", "list"]);
const plain = z.union([z.string(), z.number(), z.boolean()]);
const param = z.union([
  plain,
  z.array(z.unknown()),
  z.strictObject({
    type: paramType,
    default: z.unknown().optional(),
    description: z.string().optional(),
  }),
]);

const origin = {
  error: ({ code }: { code?: string }) =>
    code === "invalid_type"
      ? "where the secret comes from: { env: NAME }, { file: path } or { command: [program, argument] }"
      : undefined,
};
/** Maximum number of characters of a secret's command: a person must be able to read it before trusting it. */
const MOST_COMMAND = 2_000;
/** A text that may name a file. */
const name = z.string().regex(/^[^\0]*$/, "a text without the character NUL, which no name can contain");
const secretOrigin = z.union([
  z.strictObject(
    { env: z.string().regex(/^[A-Z][A-Z0-9_]*$/, "the name of an environment variable") },
    origin,
  ),
  z.strictObject({ file: name.min(1) }, origin),
  z.strictObject({
    command: z.array(name).min(1).refine((words) => words.join(" ").length <= MOST_COMMAND, {
      error: `a command of at most ${MOST_COMMAND} characters: write a longer one into a script`,
    }),
  }, origin),
]);

const stepSchema = z.strictObject({
  id: z.string().regex(/^[a-z0-9][a-z0-9_-]*$/, "a name of small letters, digits, hyphens and underscores")
    .meta({ description: "Name of the step; no two steps have the same name" }),
  uses: z.string().min(1, "a step, an operation, or a file such as ./my_step.ts")
    .meta({ description: "A step of hsgate, an operation, or a TypeScript file in the recipe's folder" }),
  with: z.record(z.string(), z.unknown()).optional().meta({
    description: "Parameters of the step; ${{ … }} contains an expression",
  }),
  needs: z.union([z.string(), z.array(z.string())]).optional()
    .meta({ description: "Steps that must have succeeded before this step" }),
  if: z.union([z.string(), z.boolean()]).optional().meta({
    description: "Expression; hsgate skips the step if the expression is false",
  }),
  retry: z.strictObject({
    attempts: z.int().min(1).max(10).meta({ description: "Number of attempts in all" }),
    wait: duration.optional().meta({
      description: "Wait before the second attempt, such as 10s; doubled for each further attempt, up to 5m",
    }),
  }).optional().meta({ description: "Retries of a step that does not write" }),
  timeout: someTime.optional().meta({ description: "Longest time of one attempt" }),
  fresh: z.boolean().optional()
    .meta({
      description: "If a run is resumed, run this read-only step again instead of reusing its stored output",
    }),
});

const notice = z.strictObject({
  on: z.enum(["success", "failure", "skip", "always"]).meta({
    description: "Result of a run for which hsgate sends the notice",
  }),
  uses: z.string().optional().meta({ description: "Step that sends the notice; notify by default" }),
  with: z.record(z.string(), z.unknown()),
  fallback: z.strictObject({
    uses: z.string().optional().meta({ description: "Step that sends the fallback; notify by default" }),
    with: z.record(z.string(), z.unknown()),
  }).optional().meta({
    description: "Notice that hsgate sends as soon as a channel of this notice fails",
  }),
});

/**
 * The schema of a recipe, without transforms, so that JSON Schema can express it. The compiler makes all other checks.
 */
export const recipeSchema = z.strictObject({
  $schema: z.string().optional(),
  name: nameText("Name of the recipe; part of the key of each run"),
  description: z.string().optional().meta({ description: "One line that says what the recipe does" }),
  schedule: z.union([schedule, z.array(schedule).min(1, "at least one schedule")]).optional()
    .meta({ description: "When the recipe runs: one schedule, or a list of schedules that each have an id" }),
  misfire: z.union([
    z.enum(["skip", "latest", "all", "ask"]),
    z.strictObject({
      action: z.enum(["skip", "latest", "all", "ask"]).optional()
        .meta({ description: "Policy for missed slots" }),
      grace: duration.optional().meta({
        description: "A slot is missed if it has not started after this time, such as 15m",
      }),
      max: z.int().min(1).max(1000).optional().meta({
        description: "Largest number of missed slots that `all` runs",
      }),
    }),
  ]).optional().meta({ description: "What the scheduler does with missed slots" }),
  overlap: z.enum(["skip", "queue", "cancel", "parallel"]).optional()
    .meta({ description: "What happens to a slot while the previous run is still running" }),
  timeout: someTime.optional().meta({ description: "Longest time of a run" }),
  deadline: someTime.optional().meta({
    description:
      "Longest time from a slot to the start of its run, such as 1h; hsgate skips the slot if its run is later",
  }),
  window: span.optional().meta({
    description:
      "Time of day in which a slot may start and the recipe may write, such as XHKG.open+5m..XHKG.close-10m",
  }),
  limits: z.strictObject(
    Object.fromEntries(
      recipeLimits.map((name) => {
        const { expected, power } = limitTable[name];
        const value = z.union([z.string(), z.number()], `${expected}`)
          .refine((given) => isLimit(name, String(given)), expected);
        return [
          name,
          value.optional().meta({ description: `Stricter value for the setting ${name}: ${power}` }),
        ];
      }),
    ),
  ).optional().meta({
    description:
      "Limits of the recipe's orders; they may be stricter than the limits of the settings, never looser",
  }),
  live: z.boolean().optional().meta({
    description:
      "Whether runs may write at the broker, if the setting liveTrading allows it too; without it, a run of a recipe that writes is a plan, and sends nothing",
  }),
  connect: z.union([
    z.enum(["gateway", "direct", "simulator"]),
    z.strictObject({
      gateway: z.url({ protocol: /^https?$/, error: 'an address such as "http://127.0.0.1:11111"' })
        .refine((address) => !/^[^/]*\/\/[^/?#\\]*@/.test(address), {
          error: 'an address without a user name, such as "http://127.0.0.1:11111"',
        })
        .optional().meta({ description: "Address of the gateway" }),
    }),
    z.strictObject({
      simulator: z.strictObject({
        seed: z.int().min(0, SEED).max(4_294_967_295, SEED).optional()
          .meta({ description: "Number that determines the simulator's data" }),
        at: z.string().refine(
          (at) => readInstant(at) !== undefined,
          'a time with its offset, such as "2025-08-15T10:00:00+08:00"',
        ).optional().meta({ description: "Time of the simulator's clock at the start of the run" }),
      }),
    }),
  ]).optional().meta({ description: "Connection to the broker; without it, the settings decide" }),
  params: z.record(z.string().regex(/^[a-zA-Z_]\w*$/, "a name of letters, digits and underscores"), param)
    .optional().meta({
      description: "Values for expressions; `hsgate run --param` can set other values for one run",
    }),
  secrets: z.record(z.string().regex(NAME, "a name of small letters, digits and hyphens"), secretOrigin)
    .optional()
    .meta({ description: "Where hsgate reads each secret; a recipe must not contain secrets" }),
  steps: z.array(stepSchema).min(1, "at least one step").meta({
    description: "Steps of the recipe, in the order in which they run",
  }),
  notify: z.array(notice).optional().meta({ description: "Messages that hsgate sends when a run has ended" }),
  ping: z.string()
    .regex(/^(https?:\/\/\S+|\$\{secret:[a-z0-9][a-z0-9-]*\})$/, 'an address, or "${secret:name}"')
    .refine((address) => !holdsToken(address), secretAddress("ping"))
    .optional().meta({
      description:
        "Address of a monitoring service such as Healthchecks, to which hsgate reports the start, success and failure of each run; ${secret:name} if the address contains a token",
    }),
}).meta({ title: "hsgate recipe" });
