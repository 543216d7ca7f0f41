/**
 * Pings a dead-man service in the manner of Healthchecks: it speaks up when the pings stay away.
 *
 * @module
 */
import { runId } from "./run_key.ts";

/** What a ping says. */
export type PingKind = "start" | "success" | "fail" | "alive";

/** Where pings go, and by what. */
export interface DeadManOptions {
  /** The check's address, such as `https://hc.example/6f0c…`. */
  url: string;
  /** Sends a request. */
  fetch: (url: string, init: { method: "POST"; signal: AbortSignal }) => Promise<Response>;
}

const TIMEOUT_MS = 10_000;

/** Makes the address of a ping; pings of one run share its id, so that the service can time it. */
export async function pingUrl(url: string, kind: PingKind, runKey?: string): Promise<string> {
  const address = new URL(url);
  const suffix = kind === "start" || kind === "fail" ? `/${kind}` : "";
  address.pathname = `${address.pathname.replace(/\/$/, "")}${suffix}`;
  if (runKey !== undefined) address.searchParams.set("rid", await runId(runKey));
  return address.href;
}

/** Sends a ping and resolves to whether it was taken; never rejects, as no run fails over it. */
export async function ping(options: DeadManOptions, kind: PingKind, runKey?: string): Promise<boolean> {
  try {
    const url = await pingUrl(options.url, kind, runKey);
    const response = await options.fetch(url, { method: "POST", signal: AbortSignal.timeout(TIMEOUT_MS) });
    await response.body?.cancel();
    return response.ok;
  } catch {
    return false;
  }
}
