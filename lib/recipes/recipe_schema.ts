/**
 * Defines the schema of a recipe file. The types, the validation and the JSON Schema for editors come from it.
 *
 * @module
 */
import * as z from "zod";
import type { Mic } from "../calendars/mod.ts";
import {
  durationExpected,
  durationPattern,
  explainAt,
  mics,
  readAt,
  readDuration,
  spanExpected,
} from "./written_times.ts";
import { holdsToken, secretAddress } from "./open_addresses.ts";

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
  description: "A span of time: 45m, 1h30m, 90s",
});

/** A duration above zero. */
export const someTime = duration.refine(
  (text) => readDuration(text) !== 0,
  'more than nothing, such as "1m"',
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
  days: z.enum([
    "every-session",
    "first-session-of-week",
    "last-session-of-week",
    "first-session-of-month",
    "last-session-of-month",
    "first-session-of-quarter",
    "last-session-of-quarter",
  ]).optional().meta({ description: "Which sessions; every one by default" }),
  at: z.string().refine((text) => readAt(text) !== undefined, {
    error: ({ input }) => explainAt(String(input)),
  })
    .meta({
      description: "A moment of the session (close+45m, open-10m, auction-close) or a time of day (09:25)",
    }),
  halfDays: z.enum(["run", "skip", "only"]).optional().meta({
    description: "What half-days do; run by default",
  }),
}).meta({ description: "By an exchange's sessions" });

const cronForm = z.strictObject({
  id: scheduleId,
  cron: z.string().meta({ description: "Minute, hour, day of the month, month, day of the week" }),
  timezone: z.string('a time zone such as "Asia/Hong_Kong"').meta({
    description: "IANA name such as Asia/Hong_Kong; never left to the machine",
  }),
  onlyIn: calendar.optional().meta({ description: "Only on days on which this exchange has a session" }),
}).meta({ description: "By a cron pattern in a named zone" });

const everyForm = z.strictObject({
  id: scheduleId,
  every: duration,
  while: span.optional().meta({ description: "Part of the session: XHKG.open-30m..XHKG.close+2h" }),
  jitter: duration.optional().meta({ description: "Most that a slot is moved" }),
}).meta({ description: "Again and again, aligned to the epoch" });

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
      ? "where the secret comes from: { env: NAME }, { file: path } or { command: [program, word] }"
      : undefined,
};
const secretOrigin = z.union([
  z.strictObject(
    { env: z.string().regex(/^[A-Z][A-Z0-9_]*$/, "the name of an environment variable") },
    origin,
  ),
  z.strictObject({ file: z.string().min(1) }, origin),
  z.strictObject({ command: z.array(z.string()).min(1) }, origin),
]);

const stepSchema = z.strictObject({
  id: z.string().regex(/^[a-z0-9][a-z0-9_-]*$/, "a name of small letters, digits and hyphens")
    .meta({ description: "Name of the step, once in the recipe" }),
  uses: z.string().min(1, "a step, an operation, or a file such as ./my_step.ts")
    .meta({ description: "A step, an operation of the catalogue, or a file beside the recipe" }),
  with: z.record(z.string(), z.unknown()).optional().meta({
    description: "Parameters; ${{ … }} is an expression",
  }),
  needs: z.union([z.string(), z.array(z.string())]).optional()
    .meta({ description: "Steps that must have gone well before" }),
  if: z.union([z.string(), z.boolean()]).optional().meta({
    description: "Expression; the step is left out when it is false",
  }),
  retry: z.strictObject({
    attempts: z.int().min(1).max(10),
    wait: duration.optional(),
  }).optional().meta({ description: "For steps that only read" }),
  timeout: someTime.optional(),
  fresh: z.boolean().optional()
    .meta({
      description: "Run again when a run is resumed, instead of reusing the stored output; reads alone",
    }),
});

const notice = z.strictObject({
  on: z.enum(["success", "failure", "skip", "always"]),
  uses: z.string().optional().meta({ description: "The step that tells it; notify by default" }),
  with: z.record(z.string(), z.unknown()),
  fallback: z.strictObject({
    uses: z.string().optional().meta({ description: "The step that sends it; notify by default" }),
    with: z.record(z.string(), z.unknown()),
  }).optional().meta({ description: "Another way, which is taken as soon as a channel of the notice fails" }),
});

/** The schema of a recipe, without transforms, so that JSON Schema can express it; the compiler does the rest. */
export const recipeSchema = z.strictObject({
  $schema: z.string().optional(),
  name: nameText("Name of the recipe; part of the key of each run"),
  description: z.string().optional(),
  schedule: z.union([schedule, z.array(schedule).min(1, "at least one schedule")]).optional()
    .meta({ description: "When it runs: one schedule, or several with an id each" }),
  misfire: z.union([
    z.enum(["skip", "latest", "all", "ask"]),
    z.strictObject({
      action: z.enum(["skip", "latest", "all", "ask"]).optional(),
      grace: duration.optional(),
      max: z.int().min(1).max(1000).optional(),
    }),
  ]).optional().meta({ description: "What happens to slots that were missed" }),
  overlap: z.enum(["skip", "queue", "cancel", "parallel"]).optional()
    .meta({ description: "What happens when the run before still runs" }),
  timeout: someTime.optional(),
  deadline: someTime.optional().meta({
    description: "After the slot; a run that has not begun by then is skipped",
  }),
  window: span.optional().meta({
    description: "When a recipe with writes may act: XHKG.open+5m..XHKG.close-10m",
  }),
  connect: z.union([
    z.enum(["gateway", "direct", "simulator"]),
    z.strictObject({
      gateway: z.url({ protocol: /^https?$/, error: 'an address such as "http://127.0.0.1:11111"' })
        .optional(),
    }),
    z.strictObject({
      simulator: z.strictObject({
        seed: z.int().min(0, SEED).max(4_294_967_295, SEED).optional(),
        at: z.string().refine(
          (at) => /T.*(Z|[+-]\d{2}:\d{2})$/.test(at) && !Number.isNaN(Date.parse(at)),
          'a time with its offset, such as "2025-08-15T10:00:00+08:00"',
        ).optional(),
      }),
    }),
  ]).optional().meta({ description: "The way to the broker; that of the settings by default" }),
  params: z.record(z.string().regex(/^[a-zA-Z_]\w*$/, "a name of letters, digits and underscores"), param)
    .optional().meta({ description: "Values that expressions see; others may be given to a run" }),
  secrets: z.record(z.string().regex(NAME, "a name of small letters, digits and hyphens"), secretOrigin)
    .optional()
    .meta({ description: "Where secrets come from; a recipe never holds one" }),
  steps: z.array(stepSchema).min(1, "at least one step").meta({ description: "What is done, in this order" }),
  notify: z.array(notice).optional().meta({ description: "What is told when a run is over" }),
  ping: z.string()
    .regex(/^(https?:\/\/\S+|\$\{secret:[a-z0-9][a-z0-9-]*\})$/, 'an address, or "${secret:name}"')
    .refine((address) => !holdsToken(address), secretAddress("ping"))
    .optional().meta({
      description:
        "Address of a dead-man service in the manner of Healthchecks, ${secret:name} where it holds a token; hears start, success and fail",
    }),
}).meta({ title: "hsgate recipe" });

/** A recipe as a person writes it. */
export type RecipeSource = z.input<typeof recipeSchema>;
/** A step as a person writes it. */
export type StepSource = z.input<typeof stepSchema>;
/** A schedule as a person writes it. */
export type ScheduleSource = z.input<typeof schedule>;
