/**
 * Defines the step `notify`, which sends a message by webhook, chat or mail.
 *
 * @module
 */
import * as z from "zod";
import { BrokerError, messageOf } from "../../errors.ts";
import { plainMailRefusal, postQuietly, refusalOf } from "../../transports/net/quiet_post.ts";
import { isLoopback } from "../../loopback.ts";
import { shownLine, shownText } from "../../shown_text.ts";
import { orAborted } from "../../time.ts";
import type { StepContext } from "../compiled.ts";
import { holdsToken, isOnThisMachine, secretAddress } from "../schema/open_addresses.ts";
import { secretOf } from "../expressions/templates.ts";
import { sha256 } from "../../sha256.ts";
import { stepKind } from "./kind.ts";
import { lazily } from "../../lazy.ts";

const loadMailer = lazily(() => import("nodemailer"));

const address = z.string().regex(/^https?:\/\/\S+$/, 'an address such as "https://…", or "${secret:name}"');
// Only one address: after a comma, a semicolon or a colon, another address or a group would begin.
const mailAddress = z.string().regex(/^[^\s@<>,;:"()\\]+@[^\s@<>,;:"()\\]+$/, "a mail address");

const params = z.strictObject({
  text: z.string().optional().meta({
    description: "Text of the message; if omitted or empty, the result of the run",
  }),
  webhook: address.optional().meta({
    description:
      "Receives a JSON object: text, recipe, runKey, slot, session, outcome, data; use ${secret:name} if the address contains a token",
  }),
  chat: z.strictObject({
    url: address.meta({ description: "Webhook address of the chat, as ${secret:name}" }),
    style: z.enum(["slack", "discord", "lark", "dingtalk", "wecom"]).default("slack")
      .meta({ description: "Kind of chat" }),
  }).optional().meta({ description: "Webhook of a chat; its address only as ${secret:name}" }),
  mail: z.strictObject({
    to: z.union([mailAddress, z.array(mailAddress).min(1)]).meta({
      description: "Addresses of the receivers",
    }),
    from: mailAddress.meta({ description: "Address of the sender" }),
    subject: z.string().optional().meta({
      description: "Subject of the mail; the first line of the text by default",
    }),
    host: z.string().min(1).meta({ description: "Mail server" }),
    port: z.int().min(1).max(65535).default(587).meta({ description: "Port of the mail server" }),
    tls: z.enum(["required", "implicit", "none"]).default("required")
      .meta({ description: "TLS: after STARTTLS (required), from the start (implicit), or none" }),
    user: z.string().optional().meta({ description: "User name at the mail server" }),
    password: z.string().optional().meta({ description: "Password at the mail server, as ${secret:name}" }),
  }).refine(({ user, password }) => (user === undefined) === (password === undefined), {
    error: 'both "user" and "password", or neither',
  }).optional().meta({ description: "Mail" }),
  data: z.unknown().optional().meta({ description: "Additional data for the webhook" }),
});
type Params = z.infer<typeof params>;

/** A mail server and a message. */
type Mail = NonNullable<Params["mail"]>;

const TIMEOUT_MS = 10_000;
const MAIL_TIMEOUT_MS = 15_000;

/** The channels by which the step can send a message. */
export const notifyChannels = ["webhook", "chat", "mail"] as const;
type Channel = typeof notifyChannels[number];

const output = z.strictObject({ ok: z.boolean(), sent: z.array(z.string()) });

/** Sends once to each receiver. The message has a key, so that receivers can detect a repetition. */
export const notify = stepKind<Params, z.infer<typeof output>>({
  name: "notify",
  summary: "Sends a message by webhook, chat or mail",
  effect: "local",
  needsAccount: () => false,
  params,
  output,
  secretParams: [["mail", "password"]],
  reaches({ webhook, chat, mail }) {
    const server = memberOf(mail, "host");
    const isUnencrypted = memberOf(mail, "tls") === "none" && !isLoopback(String(server));
    const hosts = [
      webhook,
      memberOf(chat, "url"),
      isUnencrypted ? `${server} without encryption (tls: none)` : server,
    ];
    return hosts.flatMap((host) => host === undefined ? [] : [{ kind: "host" as const, name: String(host) }]);
  },
  checkWritten({ webhook, chat }, wrong) {
    if (typeof webhook === "string" && holdsToken(webhook)) wrong(["webhook"], secretAddress("webhook"));
    const url = memberOf(chat, "url");
    // The whole webhook address of a chat is a token.
    const isExposed = typeof url === "string" && secretOf(url) === undefined && !isOnThisMachine(url);
    if (isExposed) wrong(["chat", "url"], secretAddress("chat"));
  },
  check(given, wrong) {
    if (notifyChannels.every((channel) => given[channel] === undefined)) {
      wrong([], `one or more of ${notifyChannels.join(", ")}`);
    }
  },
  async run(given, context) {
    // The text may contain text from the broker, which must not have special effects.
    const text = shownText(context.testText ?? (given.text || outcomeText(context)));
    const { recipe, runKey, slot, session, outcome } = context;
    const { webhook, chat, mail, data } = given;
    const sends: [Channel, () => Promise<void>][] = [];
    if (webhook !== undefined) {
      const body = { text, recipe, runKey, slot, session, outcome, data };
      sends.push(["webhook", () => post("webhook", webhook, body, context)]);
    }
    if (chat !== undefined) {
      sends.push(["chat", () => post("chat", chat.url, chatBodies[chat.style](text), context)]);
    }
    if (mail !== undefined) {
      sends.push(["mail", async () => {
        const message = { subject: shownLine(mail.subject ?? subjectOf(text)), text, key: context.stepKey };
        await sendMail(mail, message, context.signal);
      }]);
    }
    // A channel that hangs or fails must not delay the other channels.
    const settled = await Promise.allSettled(sends.map(([, send]) => send()));
    const sent = sends.flatMap(([channel], index) => settled[index]!.status === "fulfilled" ? [channel] : []);
    throwFailures(settled, sent);
    return { ok: true, sent };
  },
  plan: (given, context) =>
    Promise.resolve({
      tell: given.text || outcomeText(context),
      by: notifyChannels.filter((channel) => given[channel] !== undefined),
    }),
});

function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  return Object.entries(value).find(([key]) => key === name)?.[1];
}

/** Throws if a channel failed. @throws {BrokerError} Names the channels that failed and those that succeeded. */
function throwFailures(settled: readonly PromiseSettledResult<void>[], sent: readonly Channel[]): void {
  const errors: unknown[] = settled.flatMap((each) => each.status === "rejected" ? [each.reason] : []);
  const [first] = errors;
  if (first === undefined) return;
  if (errors.length === 1 && sent.length === 0) throw first;
  const reasons = errors.map(messageOf);
  const others = sent.length === 0 ? "" : `; sent by ${sent.join(" and ")}`;
  throw new BrokerError(`${reasons.join("; ")}${others}`, { code: "notify", cause: first });
}

/**
 * Returns the body of a text message in the format of each chat. Text from the broker must not notify everybody in a
 * channel, and must not hide the target of a link.
 */
const chatBodies: Readonly<Record<NonNullable<Params["chat"]>["style"], (text: string) => unknown>> = {
  slack: (text) => ({
    text: text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;"),
  }),
  discord: (text) => ({ content: withoutLinks(text).slice(0, 2000), allowed_mentions: { parse: [] } }),
  lark: (text) => ({ msg_type: "text", content: { text: withoutTags(withoutLinks(text)) } }),
  dingtalk: (text) => ({ msgtype: "text", text: { content: text }, at: { isAtAll: false } }),
  wecom: (text) => ({ msgtype: "text", text: { content: withoutTags(text), mentioned_list: [] } }),
};

/** Replaces each `<` that could begin a tag by a similar character, for chats that do not decode escapes. */
const withoutTags = (text: string) => text.replaceAll(/<(?=[\s/]*[a-z@])/gi, "\uff1c");

/** Returns the text without links of the form `[text](address)`, whose text hides their address. */
const withoutLinks = (text: string) => text.replaceAll("](", "] (");

const subjectOf = (text: string) => text.split("\n")[0]!.slice(0, 120);

function outcomeText({ recipe, slot, session, outcome }: StepContext): string {
  const state = outcome === undefined ? "sends a notice" : `is ${outcome.state}`;
  // Members that do not apply are empty.
  const reason = outcome?.error || outcome?.reason;
  const step = outcome?.failedStep ? ` at step "${outcome.failedStep}"` : "";
  return `${recipe} ${state}${step} (${session?.date ?? slot})${reason ? `: ${reason}` : ""}`;
}

async function post(
  channel: string,
  url: string,
  body: unknown,
  { stepKey, signal }: StepContext,
): Promise<void> {
  // The path of the address may contain a token, so messages show only its host.
  const host = URL.canParse(url) ? new URL(url).host : "an address that cannot be read";
  const refused = refusalOf(url);
  if (refused !== undefined) {
    throw new BrokerError(`Cannot notify by ${channel}: ${host}: ${refused}`, { code: "plain-http" });
  }
  let status: number;
  try {
    status = await postQuietly(url, {
      headers: { "content-type": "application/json", "idempotency-key": stepKey },
      body: JSON.stringify(body),
      signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
    });
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    const reason = error instanceof DOMException ? "it took too long" : "it cannot be reached";
    throw new BrokerError(`Cannot notify by ${channel}: ${host}: ${reason}`, { code: "notify" });
  }
  if (status < 200 || status > 299) {
    throw new BrokerError(`Cannot notify by ${channel}: ${host} answered ${status}`, { code: "notify" });
  }
}

/** The part of nodemailer that is used here; the package has no types. */
interface Mailer {
  createTransport(options: {
    host: string;
    port: number;
    secure: boolean;
    requireTLS: boolean;
    ignoreTLS: boolean;
    tls: { rejectUnauthorized: true };
    auth?: { user: string; pass: string };
    forceAuth: boolean;
    connectionTimeout: number;
    socketTimeout: number;
    disableFileAccess: true;
    disableUrlAccess: true;
  }): {
    sendMail(
      mail: { from: string; to: string | string[]; subject: string; text: string; messageId: string },
    ): Promise<unknown>;
    close(): void;
  };
}

/**
 * Sends a mail. Its message id depends on the key, so that a mailbox can detect a repetition.
 *
 * @throws {BrokerError} If the server did not accept the mail within 15 seconds. An abort of the signal rejects with the
 * reason of the abort.
 */
async function sendMail(
  mail: Mail,
  { subject, text, key }: { subject: string; text: string; key: string },
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted();
  const { host, port, tls, user, password, from, to } = mail;
  const refused = tls === "none" ? plainMailRefusal(host) : undefined;
  if (refused !== undefined) {
    throw new BrokerError(`Cannot notify by mail: ${host}: ${refused}`, { code: "plain-http" });
  }
  // The mail client is loaded only here, because few recipes need it.
  const { default: mailer }: { default: Mailer } = await loadMailer();
  const transport = mailer.createTransport({
    host,
    port,
    secure: tls === "implicit",
    requireTLS: tls === "required",
    ignoreTLS: tls === "none",
    // Without this option, NODE_TLS_REJECT_UNAUTHORIZED=0 would turn the check of the certificate off.
    tls: { rejectUnauthorized: true },
    ...user !== undefined && password !== undefined && { auth: { user, pass: password } },
    // Without this option, the package sends the mail without a login if the server offers none.
    forceAuth: user !== undefined && password !== undefined,
    connectionTimeout: MAIL_TIMEOUT_MS,
    socketTimeout: MAIL_TIMEOUT_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  const messageId = `<${(await sha256(key)).slice(0, 32)}@hsgate>`;
  // Limit the whole time: a server that sends a byte from time to time would never trigger an idle timeout.
  const late = AbortSignal.timeout(MAIL_TIMEOUT_MS);
  try {
    const sending = transport.sendMail({ from, to, subject, text, messageId });
    await orAborted(sending, AbortSignal.any([signal, late]));
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    // The server's own text may contain the address or the user.
    const why = late.aborted
      ? "ETIMEDOUT"
      : error instanceof Error && "code" in error
      ? error.code
      : undefined;
    const code = why === undefined ? "" : ` (${String(why)})`;
    const what = why === "EAUTH" ? "refused the login or offers none" : "did not accept it";
    throw new BrokerError(`Cannot notify by mail: the server "${host}" ${what}${code}`, {
      code: "notify",
    });
  } finally {
    transport.close();
  }
}
