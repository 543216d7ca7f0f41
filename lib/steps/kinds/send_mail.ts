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

/** Sends a mail; its message id follows from the key, so that a mailbox can tell a repetition. */
export async function sendMail(
  mail: Mail,
  { subject, text, key }: { subject: string; text: string; key: string },
): Promise<void> {
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
  try {
    const messageId = `<${(await sha256(key)).slice(0, 32)}@hsgate>`;
    await transport.sendMail({ from, to, subject, text, messageId });
  } catch (error) {
    // The server's own words may repeat the address or the user.
    const code = error instanceof Error && "code" in error ? ` (${String(error.code)})` : "";
    throw new BrokerError(`Cannot notify by mail: the server "${host}" did not take it${code}`, {
      code: "notify",
    });
  } finally {
    transport.close();
  }
}
