/**
 * Defines the report of a probe, parses the text of a report file, and keeps values of the account out of a report.
 *
 * @module
 */
import { z } from "zod";
import { type Difference, listedNames, type Seen, type SeenAnswer } from "../operations/answer_shapes.ts";
import { messageOf } from "../errors.ts";
import { countValues } from "../foreign_values.ts";
import type { AnswerShape } from "../operations/shaped_answers.ts";

/** Result of a call. `fits`: the answer agrees with the catalogue. `unreadable`: hsgate cannot read the answer. */
export type CallOutcome = "fits" | "differs" | "unreadable" | "rejected" | "no-answer";

const whole = z.number().int().min(0);
const lengths = z.tuple([whole, whole, whole]);
const size = z.tuple([whole, whole]);
const forms = z.record(z.string(), lengths);
const seen: z.ZodType<Seen> = z.lazy(() =>
  z.strictObject({
    times: z.number(),
    null: z.number().optional(),
    flags: size.optional(),
    texts: forms.optional(),
    numbers: forms.optional(),
    codes: z.array(z.string().regex(/^("[\w-]*"|-?\d+)$/)).optional(),
    list: z.strictObject({ times: z.number(), sizes: size, of: seen.optional() }).optional(),
    record: z.strictObject({ times: z.number(), members: z.record(z.string(), seen) }).optional(),
  })
);
const answer: z.ZodType<SeenAnswer> = z.strictObject({
  over: z.enum(["gateway", "platform", "socket"]),
  status: z.number().int().min(100).max(599).optional(),
  body: seen.optional(),
  type: z.int32().optional(),
  code: z.string().optional(),
  message: z.string().optional(),
  payload: seen.optional(),
});
const difference: z.ZodType<Difference> = z.strictObject({
  path: z.string(),
  kind: z.enum(["missing", "extra", "type", "form", "code", "null", "alias", "envelope", "paging"]),
  weight: z.enum(["breaks", "differs", "absent"]),
  times: z.number(),
  of: z.number(),
  text: z.string(),
});
const call = z.strictObject({
  /** hsgate's name of the operation. */
  operation: z.string(),
  /** 2 for the second page of a list; absent for other calls. */
  page: z.number().optional(),
  /** Set if the call was rejected before, and was made again with a subscription to its security. */
  subscribed: z.literal(true).optional(),
  /** The names of the parameters that were sent. */
  params: z.array(z.string()),
  /** The parameters whose values are names of a code table, such as the market. */
  codes: z.record(z.string(), z.string()),
  outcome: z.enum(["fits", "differs", "unreadable", "rejected", "no-answer"]),
  /** The broker's code of a rejection, or hsgate's own short code. */
  code: z.string().optional(),
  /** How long the answer took, milliseconds. */
  ms: z.number(),
  /** The last answer; absent if there was none. */
  answer: answer.optional(),
  differences: z.array(difference),
});
const report = z.strictObject({
  what: z.literal("hsgate probe"),
  format: z.literal(1),
  transport: z.enum(["gateway", "direct"]),
  /** Start and end, ISO 8601 in UTC. */
  started: z.string(),
  ended: z.string(),
  /** Why the probe ended before it made every call; absent if it made all calls. */
  stopped: z.string().optional(),
  /** Whether the reads of each family were called, declined by the user, or not reached. */
  families: z.record(z.string(), z.enum(["called", "declined", "not reached"])),
  /** By how much the broker's clock was ahead of this machine's, smallest and largest, in milliseconds. */
  clock: z.strictObject({
    source: z.string(),
    aheadMs: z.tuple([z.number(), z.number()]),
    answers: z.number(),
  }).optional(),
  calls: z.array(call),
  /** Operations that were not called, and why. */
  left: z.array(z.strictObject({ operation: z.string(), market: z.string().optional(), why: z.string() })),
});

/** One call of a probe. */
export type ProbeCall = z.infer<typeof call>;
/** The report of a probe. Contains no value of the account. */
export type ProbeReport = z.infer<typeof report>;

/** Maximum nesting of a report. A probe describes 26 levels of an answer, and each becomes three levels of a report. */
const MOST_LEVELS = 400;
/** Maximum number of calls of a report. A probe makes about 120. */
const MOST_CALLS = 2_000;
/**
 * Maximum number of values of a report. A whole probe has about 17,000. The limit also bounds the number of
 * schema errors, because each wrong value can cause one.
 */
const MOST_VALUES = 200_000;

/**
 * Parses the text of a report. The file name is only for the error messages.
 *
 * @throws {TypeError} If the text is not a report of this version.
 */
export function readReport(text: string, fileName: string): ProbeReport {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    throw new TypeError(`Cannot read "${fileName}": it is not JSON; name a report of "hsgate probe"`);
  }
  try {
    const calls = typeof parsed === "object" && parsed !== null && "calls" in parsed
      ? parsed.calls
      : undefined;
    if (Array.isArray(calls) && calls.length > MOST_CALLS) {
      throw new RangeError(`it has ${calls.length} calls, more than ${MOST_CALLS}`);
    }
    if (countValues(parsed, { levels: MOST_LEVELS, values: MOST_VALUES }) > MOST_VALUES) {
      throw new RangeError(`it has more than ${MOST_VALUES} values`);
    }
  } catch (error) {
    throw new TypeError(
      `Cannot read "${fileName}": it is not a report of "hsgate probe": ${messageOf(error)}`,
    );
  }
  const read = report.safeParse(parsed);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  throw new TypeError(
    `Cannot read "${fileName}": it is not a report of "hsgate probe" (${
      issue?.path.join(".") ?? ""
    }: ${issue?.message})`,
  );
}

/** Returns the shapes of the answers in a report, without the answers of second pages. */
export function shapesOf({ calls }: ProbeReport): AnswerShape[] {
  return calls.flatMap(({ operation, codes, answer, page = 1 }) =>
    answer === undefined || page > 1 ? [] : [{ operation, codes, answer }]
  );
}

/** Minimum length of a value of the account that is searched for in the names of members. */
const LEAST_VALUE = 3;

/**
 * Returns the report without values of the account. A report contains the names of members, and of their values only the
 * short codes of code tables. So any other value can be in it only if the broker used the value as the name of a member.
 * The result has only the length of such a name.
 *
 * @param values The values to look for: every text and number that the broker sent, and the secrets of the settings.
 */
export function withoutValues(report: ProbeReport, values: ReadonlySet<string>): ProbeReport {
  const listed = listedNames();
  const searched = [...values].filter(({ length }) => length >= LEAST_VALUE).map((value) =>
    value.toLowerCase()
  );
  const name = (given: string): string =>
    listed.has(given) || !searched.some((value) => given.toLowerCase().includes(value))
      ? given
      : `[name of ${given.length} characters]`;
  const path = (given: string) =>
    given.split(".").map((part) => {
      const [, inner = part, ends = ""] = /^(.*?)((?:\[\])*)$/.exec(part) ?? [];
      return name(inner) + ends;
    }).join(".");
  const shape = (given: Seen): Seen => ({
    ...given,
    ...given.list?.of !== undefined && { list: { ...given.list, of: shape(given.list.of) } },
    ...given.record !== undefined && {
      record: {
        ...given.record,
        members: Object.fromEntries(
          Object.entries(given.record.members).map(([member, each]) => [name(member), shape(each)]),
        ),
      },
    },
  });
  return {
    ...report,
    calls: report.calls.map((each) => ({
      ...each,
      differences: each.differences.map((one) => ({ ...one, path: path(one.path) })),
      ...each.answer !== undefined && {
        answer: {
          ...each.answer,
          ...each.answer.body !== undefined && { body: shape(each.answer.body) },
          ...each.answer.payload !== undefined && { payload: shape(each.answer.payload) },
          ...each.answer.message !== undefined && { message: name(each.answer.message) },
        },
      },
    })),
  };
}

/** A difference, and the operation whose answers have it. */
export interface FoundDifference extends Difference {
  operation: string;
}

/**
 * Returns each difference of a report once for each operation. Leaves out missing members that servers may leave out.
 */
export function differencesOf({ calls }: ProbeReport): FoundDifference[] {
  const found = new Map<string, FoundDifference>();
  for (const { operation, differences } of calls) {
    for (const each of differences) {
      if (each.weight === "absent") continue;
      const key = `${operation} ${each.path} ${each.kind} ${each.text}`;
      const known = found.get(key);
      if (known === undefined) found.set(key, { ...each, operation });
      else {
        known.times += each.times;
        known.of += each.of;
      }
    }
  }
  return [...found.values()];
}
