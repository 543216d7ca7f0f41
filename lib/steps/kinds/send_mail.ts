/**
 * Mail through a server that the recipe names.
 *
 * @module
 */
import nodemailer from "nodemailer";
import { BrokerError } from "../../errors.ts";
import { sha256 } from "./files.ts";
import type { Mail } from "./notify.ts";

/** The part of nodemailer that is used here; the package has no types of its own. */
interface Mailer {
  createTransport(options: {
    host: string;
    port: number;
    secure: boolean;
    requireTLS: boolean;
    ignoreTLS: boolean;
    auth?: { user: string; pass: string };
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
const mailer: Mailer = nodemailer;

const TIMEOUT_MS = 15_000;

/**
 * Sends a mail; its message id follows from the key, so that a mailbox can tell a repetition.
 *
 * @throws {BrokerError} When the server did not take it within 15 seconds. An abort of the signal rejects with its
 * reason.
 */
export async function sendMail(
  mail: Mail,
  { subject, text, key }: { subject: string; text: string; key: string },
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted();
  const { host, port, tls, user, password, from, to } = mail;
  const transport = mailer.createTransport({
    host,
    port,
    secure: tls === "implicit",
    requireTLS: tls === "required",
    ignoreTLS: tls === "none",
    ...user !== undefined && password !== undefined && { auth: { user, pass: password } },
    connectionTimeout: TIMEOUT_MS,
    socketTimeout: TIMEOUT_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  const messageId = `<${(await sha256(key)).slice(0, 32)}@hsgate>`;
  // A server that sends a byte now and then would never be silent for long enough.
  const late = new Error("it took too long");
  const ended = Promise.withResolvers<never>();
  ended.promise.catch(() => {});
  const timer = setTimeout(() => ended.reject(Object.assign(late, { code: "ETIMEDOUT" })), TIMEOUT_MS);
  const abort = () => ended.reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  const sending = transport.sendMail({ from, to, subject, text, messageId });
  sending.catch(() => {}); // it may fail after it was given up
  try {
    await Promise.race([sending, ended.promise]);
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    // The server's own words may repeat the address or the user.
    const code = error instanceof Error && "code" in error ? ` (${String(error.code)})` : "";
    throw new BrokerError(`Cannot notify by mail: the server "${host}" did not take it${code}`, {
      code: "notify",
    });
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", abort);
    transport.close();
  }
}
