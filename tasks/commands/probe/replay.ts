/**
 * Replays the report of a probe. A simulator sends answers with the same shapes (types and forms) as the answers in the
 * report, and the real client reads them.
 *
 * @module
 */
import type { Client } from "../../../lib/client/client.ts";
import { connect } from "../../../lib/client/connect.ts";
import { BrokerError, RejectedError } from "../../../lib/errors.ts";
import { operations } from "../../../lib/operations/mod.ts";
import type { AnyOperation } from "../../../lib/operations/operation.ts";
import { type AnswerShape, answersOf } from "../../../lib/operations/shaped_answers.ts";
import { Market } from "../../../lib/dictionaries/market.ts";
import { Learned, planCall } from "../../../lib/probe/plan.ts";
import { type ProbeReport, shapesOf } from "../../../lib/probe/report.ts";
import { startSimulator, whyUnsendable } from "../../../lib/simulator/mod.ts";
import type { Host } from "../../terminal/host.ts";

/** The check of one shape. */
interface Case {
  operation: string;
  /** The market and other codes of the request. */
  codes: Readonly<Record<string, string>>;
  /** Number of answers of this shape, and how many of them hsgate read. A rejection counts as read. */
  answers: number;
  read: number;
  /** Why the first unread answer was not read. */
  why?: string;
  /** Outcome of this call in the report. The report may come from another version of hsgate. */
  then: string;
}

/** Checks a report, and prints the result. Returns 7 if an answer cannot be read. */
export async function replay(
  report: ProbeReport,
  { json, host }: { json: boolean; host: Host },
): Promise<number> {
  const cases: Case[] = [];
  const shapes = shapesOf(report);
  const unsendable = new Map<AnswerShape, string>();
  for (const shape of shapes) {
    const why = await whyUnsendable(shape);
    if (why !== undefined) unsendable.set(shape, why);
  }
  await using simulator = await startSimulator({
    seed: 1,
    days: 1,
    fillsPerDay: 1,
    clock: { now: () => CLOCK },
    answers: shapes.filter((shape) => !unsendable.has(shape)),
    gateway: { pushIntervalMs: 0 },
    platform: { pushIntervalMs: 0 },
  });
  for (const shape of shapes) {
    host.signal.throwIfAborted();
    const then = report.calls.find(({ answer }) => answer === shape.answer)?.outcome ?? "fits";
    const why = unsendable.get(shape);
    if (why !== undefined) {
      cases.push({ operation: shape.operation, codes: shape.codes, answers: 1, read: 0, why, then });
      continue;
    }
    const newClient = () => clientOf(simulator.info, report.transport);
    cases.push(await check(shape, { newClient, then }));
  }
  const unread = cases.filter(({ answers, read }) => read < answers);
  if (json) host.out(JSON.stringify({ transport: report.transport, cases }));
  else {
    for (const each of cases) host.out(lineOf(each));
    host.out("");
    host.out(
      unread.length === 0
        ? `hsgate reads the answers of all ${cases.length} calls`
        : `hsgate cannot read answers of ${unread.length} of ${cases.length} calls`,
    );
  }
  return unread.length === 0 ? 0 : 7;
}

function lineOf({ operation, codes, answers, read, why }: Case): string {
  const of = Object.values(codes).slice(0, 2).join(" ");
  const verdict = read === answers ? "read  " : "UNREAD";
  return `${verdict}  ${operation} ${of}`.trimEnd() + (why === undefined ? "" : `: ${why}`);
}

/** Sends every answer of a shape through a simulator to a client. */
async function check(
  shape: AnswerShape,
  { newClient, then }: { newClient: () => Promise<Client>; then: string },
): Promise<Case> {
  const { operation: name, codes } = shape;
  const answers = answersOf(shape.answer);
  const result: Case = { operation: name, codes, answers: answers.length, read: 0, then };
  const operation = operations.get(name);
  if (operation?.effect !== "read") return { ...result, why: "this version has no such read" };
  const params = paramsOf(operation, codes);
  if (params === undefined) return { ...result, why: "this version needs other parameters" };
  // Use a new client for each shape, so that a login that is rejected during one check does not disturb the next check.
  await using client = await newClient();
  for (let nth = 0; nth < answers.length; nth++) {
    const why = await whyUnread(client, operation, params);
    if (why === undefined) result.read++;
    else result.why ??= why;
  }
  return result;
}

const CLOCK = Date.parse("2025-08-16T12:00:00+08:00");

function paramsOf(operation: AnyOperation, codes: AnswerShape["codes"]): Record<string, unknown> | undefined {
  const market = Market.names.find((each) => each === codes.market);
  const planned = planCall(operation, market, { learned: new Learned(), now: CLOCK, isLast: true });
  if ("params" in planned) return planned.params;
  // The parameters lack values that come from other answers, such as an order number: use sample values.
  const known = new Learned();
  known.take(operation, { orderId: "1", expiry: "2025-08-15" }, market);
  for (const [name, { wire }] of Object.entries(operation.request.fields ?? {})) {
    known.take(operation, { [wire]: SAMPLES[name] ?? "1" }, market);
  }
  const again = planCall(operation, market, { learned: known, now: CLOCK, isLast: true });
  return "params" in again ? again.params : undefined;
}

const SAMPLES: Readonly<Record<string, string>> = { date: "2025-08-15", expiry: "2025-09-19" };

async function clientOf(
  info: Awaited<ReturnType<typeof startSimulator>>["info"],
  transport: ProbeReport["transport"],
): Promise<Client> {
  const { tradePassword, tradePasswordKey, gatewayUrl, pushAddress } = info;
  const retry = { attempts: 1 };
  if (transport === "gateway") {
    const gateway = { url: gatewayUrl, push: pushAddress, readOnly: "login" } as const;
    return await connect({ gateway, tradePassword, tradePasswordKey, retry });
  }
  return await connect({
    direct: {
      url: info.authUrl,
      country: "CHN",
      mobile: info.mobile,
      password: info.loginPassword,
      deviceId: "02-00-00-00-00-01",
      privateKey: info.developerPrivateKey,
      platformKey: info.platformPublicKey,
      leaseFolder: false,
      readOnly: "login",
    },
    tradePassword,
    retry,
  });
}

/** Returns why the client cannot read an answer; `undefined` if the client reads it. A rejection counts as read. */
async function whyUnread(
  client: Client,
  operation: AnyOperation,
  params: Record<string, unknown>,
): Promise<string | undefined> {
  try {
    await client.call(operation, params);
    return undefined;
  } catch (error) {
    if (error instanceof RejectedError) return undefined;
    if (error instanceof BrokerError) return error.message;
    throw error;
  }
}
