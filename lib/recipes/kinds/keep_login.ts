/**
 * The step `keep-login`: one cheap query, so that the trade login does not run out.
 *
 * @module
 */
import * as z from "zod";
import { BrokerError, DisplacedError, LoginExpiredError } from "../../errors.ts";
import { account } from "../../operations/account.ts";
import { durationOf, readDuration } from "../durations.ts";
import { someTime } from "../recipe_schema.ts";
import { market } from "./fields.ts";
import { stepKind } from "./kind.ts";

const LIFE = "3h";

const params = z.strictObject({
  market: market.default("hk").meta({ description: "Market whose funds are asked for" }),
  life: someTime.default(LIFE).meta({ description: "Shortest life of the login; run it at a third of this" }),
});

const output = z.strictObject({
  ok: z.boolean(),
  /** ISO 8601 in UTC. */
  checkedAt: z.string(),
  /** Until when it holds if nothing else is called, ISO 8601 in UTC. */
  holdsUntil: z.string(),
});
/** What is known of the login. */
export type LoginKept = z.infer<typeof output>;

/** Asks for the funds once: the call itself extends the login, and the client logs in again by itself where it may. */
export const keepLogin = stepKind<z.infer<typeof params>, LoginKept>({
  name: "keep-login",
  summary: "Keeps the trade login alive with one cheap query; stops when another device has taken it over",
  effect: "read",
  keepAlive: true,
  mostEveryMs({ life = LIFE }) {
    const ms = readDuration(life);
    return ms === undefined ? undefined : ms / 3;
  },
  needsAccount: () => true,
  params,
  output,
  async run({ market, life }, context) {
    const client = await context.client();
    const at = context.now();
    try {
      await client.call(account.funds, { market }, { signal: context.signal });
    } catch (error) {
      throw explain(error);
    }
    return { ok: true, checkedAt: iso(at), holdsUntil: iso(at + durationOf(life)) };
  },
});

const iso = (at: number) => Temporal.Instant.fromEpochMilliseconds(at).toString();

/** Tells the ways a login ends apart, as a person does something else about each. */
function explain(error: unknown): unknown {
  if (error instanceof DisplacedError) {
    return new DisplacedError(
      "Cannot keep the login: another device or program has taken it over, and logging in again would fight it",
      error.text,
      { code: "displaced", cause: error },
    );
  }
  if (error instanceof LoginExpiredError) {
    const reason = error.operation?.startsWith("platform.")
      ? "the platform token has run out"
      : "the trade login has run out, and no password is there to log in again";
    return new LoginExpiredError(`Cannot keep the login: ${reason}`, error.text, {
      code: error.code,
      cause: error,
    });
  }
  return error instanceof BrokerError
    ? error
    : new BrokerError("Cannot keep the login: the query failed", { code: "keep-login", cause: error });
}
