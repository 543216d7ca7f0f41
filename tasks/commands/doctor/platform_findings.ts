/**
 * Contains the checks of `hsgate doctor` before it logs in to the platform: settings, keys, lease, network,
 * certificate, clock.
 *
 * @module
 */
import { messageOf } from "../../../lib/errors.ts";
import { missingForDirect } from "../../../lib/client/connect_options.ts";
import { type LoadedSettings } from "../../../lib/client/load_settings.ts";
import { type Settings, settingVariable } from "../../../lib/client/settings.ts";
import { postOnce, serverOf } from "../../../lib/transports/net/post_once.ts";
import { describeHolder } from "../../../lib/transports/direct/lease.ts";
import { shownAddress } from "../../../lib/transports/net/address.ts";
import { accountHolder } from "../lease/account_lease.ts";
import type { Host } from "../../terminal/host.ts";
import { failed, type Finding, ok, type Patience, warning } from "./findings.ts";
import { examineKey } from "./key_findings.ts";

/** A larger difference between the clocks causes a warning. */
const MOST_SKEW_MS = 30_000;

/** Checks that the settings are complete; shows secrets only as set or missing. */
export function directSettingsFinding({ settings, origins, file }: LoadedSettings): Finding {
  const missing = missingForDirect(settings);
  const from = file === undefined ? "no settings file" : `file ${file}`;
  if (missing.length > 0) {
    return failed(
      "settings",
      `for the direct transport these are missing: ${missing.join(", ")} (${from})`,
      `Set ${missing.map(settingVariable).join(", ")}, or the same in hsgate.yaml by their names above`,
      2,
    );
  }
  const password = settings.tradePassword === undefined ? "missing" : `set (${origins.tradePassword})`;
  return ok(
    "settings",
    `platform ${
      shownAddress(settings.authUrl ?? "")
    } (${origins.authUrl}); ${from}; login set; trade password ${password}`,
  );
}

/** Checks that both keys can be read and have the right kind and size. */
export function keyFindings(settings: Settings): Finding[] {
  const halves = [
    ["developer key", settings.developerPrivateKey ?? "", "private"],
    ["platform key", settings.platformPublicKey ?? "", "public"],
  ] as const;
  return halves.map(([check, text, half]) => {
    const bytes = new TextEncoder().encode(text);
    const { findings } = examineKey({ path: "FILE", bytes, mode: null }, half);
    const worst = findings.find(({ state }) => state === "failed");
    if (worst === undefined) return ok(check, findings[0]?.text ?? "readable");
    return failed(check, worst.text, worst.advice ?? "Name another key", 2);
  });
}

/** Checks whether another process of this machine has the account's trade connection. */
export async function leaseFinding(settings: Settings, host: Host): Promise<Finding> {
  const check = "lease";
  const holder = await accountHolder(settings.developerPrivateKey ?? "", settings, host);
  if (holder === undefined) {
    return ok(check, "no process of this machine has the account's trade connection");
  }
  return failed(
    check,
    `the account's only trade connection is in use: ${describeHolder(holder)}`,
    "doctor did not log in, because that would end the other program's session. Close that program and run doctor again",
    4,
  );
}

/** Checks that the platform's name resolves, its port is open and its certificate is valid. */
export async function* wayFindings(settings: Settings, patience: Patience): AsyncGenerator<Finding> {
  const url = new URL(settings.authUrl ?? "");
  const hostname = url.hostname.replace(/^\[|\]$/g, "");
  const isTls = url.protocol === "https:";
  const port = Number(url.port || (isTls ? 443 : 80));
  const address = await connectFinding(hostname, port, patience);
  yield address;
  if (isTls && address.state === "ok") yield await tlsFinding(hostname, port, settings, patience);
}

async function connectFinding(hostname: string, port: number, patience: Patience): Promise<Finding> {
  const check = "address";
  const advice = "Check authUrl (HSGATE_AUTH_URL), the network and any firewall";
  try {
    (await Deno.connect({ hostname, port, signal: within(patience) })).close();
    return ok(check, `${hostname}:${port} accepts connections`);
  } catch (error) {
    if (patience.signal.aborted) throw patience.signal.reason;
    if (error instanceof Deno.errors.NotCapable) throw error;
    if (error instanceof Deno.errors.ConnectionRefused) {
      return failed(check, `${hostname}:${port} is closed: no program listens there`, advice, 4);
    }
    if (error instanceof Error && error.message.includes("failed to lookup address")) {
      return failed(
        check,
        `the name "${hostname}" cannot be resolved (DNS)`,
        "Is it spelled right in authUrl (HSGATE_AUTH_URL)? Does this machine have a network and a name server?",
        4,
      );
    }
    return failed(check, `${hostname}:${port} does not answer`, advice, 4);
  }
}

async function tlsFinding(
  hostname: string,
  port: number,
  { caCerts }: Settings,
  patience: Patience,
): Promise<Finding> {
  const check = "TLS";
  const limit = within(patience);
  let connection: Deno.TlsConn | undefined;
  const stop = () => connection?.close();
  try {
    connection = await Deno.connectTls({
      hostname,
      port,
      ...caCerts !== undefined && { caCerts: [caCerts] },
    });
    limit.addEventListener("abort", stop);
    if (limit.aborted) throw limit.reason;
    await connection.handshake();
    stop();
    return ok(check, "the certificate is valid");
  } catch (error) {
    if (patience.signal.aborted) throw patience.signal.reason;
    if (!limit.aborted) stop();
    const message = messageOf(error);
    const reason = /invalid peer certificate: ?(.*)/.exec(message)?.[1];
    if (reason === undefined) {
      return failed(
        check,
        limit.aborted
          ? "the server did not answer the TLS handshake"
          : `no encrypted connection (${message})`,
        "Does this address serve https? A proxy or firewall may also interfere",
        4,
      );
    }
    return failed(check, `the certificate is not valid: ${reason}`, adviceOnCertificate(reason), 4);
  } finally {
    limit.removeEventListener("abort", stop);
  }
}

function adviceOnCertificate(reason: string): string {
  if (/expired|not ?valid ?yet/i.test(reason)) {
    return "Is this machine's clock right? If it is, ask the broker";
  }
  if (/name/i.test(reason)) return "The certificate belongs to another host: check the name in authUrl";
  return "Is this the platform, or is the connection intercepted? For your own certificate authority, name its certificate " +
    "(HSGATE_CA_CERTS_FILE), or set DENO_TLS_CA_STORE=system; never turn the check off";
}

/** Checks that an HTTP server answers, and compares its clock with ours. */
export async function* httpFindings(
  { authUrl = "", caCerts }: Settings,
  now: () => number,
  patience: Patience,
): AsyncGenerator<Finding> {
  const client = caCerts === undefined ? undefined : Deno.createHttpClient({ caCerts: [caCerts] });
  const limit = within(patience);
  let theirs: number;
  let ours: number;
  try {
    const sentAt = now();
    const date = await dateOf(new URL(authUrl), limit, { client, caCerts });
    ours = (sentAt + now()) / 2;
    theirs = Date.parse(date ?? "");
    yield ok("HTTP", "a server answers there");
  } catch (error) {
    if (patience.signal.aborted) throw patience.signal.reason;
    yield failed(
      "HTTP",
      limit.aborted
        ? "no answer in time"
        : `no answer: ${
          error instanceof Error ? error.message.slice(error.message.lastIndexOf(": ") + 1).trim() : error
        }`,
      "Is authUrl (HSGATE_AUTH_URL) the address of the platform? Is there a proxy in between?",
      4,
    );
    return;
  } finally {
    client?.close();
  }
  if (!Number.isNaN(theirs)) yield clockFinding(ours - theirs);
  else {
    yield warning(
      "clock",
      "the platform's time is unknown: its answer contains none",
      "Check this machine's clock (NTP): requests contain the time, and hsgate derives days and sessions from it",
    );
  }
}

/** Resolves to the `Date` header of a server. Requests to this machine bypass any proxy. */
async function dateOf(
  url: URL,
  signal: AbortSignal,
  { client, caCerts }: { client: Deno.HttpClient | undefined; caCerts: string | undefined },
): Promise<string | undefined> {
  const server = serverOf(url);
  if (server.isLocal) {
    const to = { server, path: url.pathname, ...caCerts !== undefined && { caCerts: [caCerts] } };
    return (await postOnce({ ...to, body: "", signal, maxBytes: 1024 * 1024 })).date;
  }
  const response = await fetch(url, { redirect: "manual", signal, ...client !== undefined && { client } });
  await response.body?.cancel();
  return response.headers.get("date") ?? undefined;
}

function clockFinding(skewMs: number): Finding {
  const check = "clock";
  const seconds = Math.round(Math.abs(skewMs) / 1000);
  if (Math.abs(skewMs) <= MOST_SKEW_MS) {
    return ok(check, `within ${Math.max(1, seconds)} s of the platform's`);
  }
  return warning(
    check,
    `this machine's clock is ${seconds} s ${skewMs > 0 ? "ahead of" : "behind"} the platform's`,
    "Set the clock (NTP): requests contain the time, and hsgate derives days and sessions from it",
  );
}

function within({ timeoutMs, signal }: Patience): AbortSignal {
  return AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
}
