/**
 * Defines the step `keep-login`, which makes one cheap query so that the trade login does not expire.
 *
 * @module
 */
import * as z from "zod";
import { BrokerError, DisplacedError, LoginExpiredError } from "../../errors.ts";
import { account } from "../../operations/account.ts";
import { durationOf, readDuration } from "../compile/written_times.ts";
import { someTime } from "../schema/recipe_schema.ts";
import { market } from "./fields.ts";
import { stepKind } from "./kind.ts";

const LIFE = "3h";

const params = z.strictObject({
  market: market.default("hk").meta({ description: "Market whose funds are queried" }),
  life: someTime.default(LIFE).meta({
    description: "Shortest lifetime of the login; run the step at least three times in this time",
  }),
});

const output = z.strictObject({
  ok: z.boolean(),
  /** ISO 8601 in UTC. */
  checkedAt: z.string(),
  /** When the login expires without further calls, ISO 8601 in UTC. */
  holdsUntil: z.string(),
});
/** When the login was checked, and until when it lasts without further calls. */
export type LoginKept = z.infer<typeof output>;

/**
 * Queries the funds once, which extends the login. If the login has expired, the client logs in again, if it is allowed
 * to.
 */
export const keepLogin = stepKind<z.infer<typeof params>, LoginKept>({
  name: "keep-login",
  summary: "Keeps the trade login alive with one small query; stops if another device has taken it over",
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

/** Returns an error that says how the login ended, because each case needs a different action. */
function explain(error: unknown): unknown {
  if (error instanceof DisplacedError) {
    return new DisplacedError(
      "Cannot keep the login: another device or program has taken it over; logging in again would take it back",
      error.text,
      { code: "displaced", cause: error },
    );
  }
  if (error instanceof LoginExpiredError) {
    const reason = error.operation?.startsWith("platform.")
      ? "the platform token has expired"
      : "the trade login has expired, and there is no password to log in again";
    return new LoginExpiredError(`Cannot keep the login: ${reason}`, error.text, {
      code: error.code,
      cause: error,
    });
  }
  return error instanceof BrokerError
    ? error
    : new BrokerError("Cannot keep the login: the query failed", { code: "keep-login", cause: error });
}
