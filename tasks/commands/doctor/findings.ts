/**
 * Contains the checks of `hsgate doctor` for settings, gateway, clock and trade login. Each failed check says what to
 * do.
 *
 * @module
 */
import { askQuoteTime, type BrokerClock, describeDifference } from "../../../lib/client/broker_clock.ts";
import type { Client } from "../../../lib/client/client.ts";
import type { GatewayConfig } from "../../../lib/client/config_xml.ts";
import type { LoadedSettings } from "../../../lib/client/load_settings.ts";
import type { Settings } from "../../../lib/client/settings.ts";
import {
  BrokerError,
  DisplacedError,
  LoginExpiredError,
  LoginRefusedError,
  ProtocolError,
  RejectedError,
  TransportError,
} from "../../../lib/errors.ts";
import type { CallOptions } from "../../../lib/transports/transport.ts";
import { isWithoutProxy } from "../../../lib/loopback.ts";
import { shownAddress } from "../../../lib/transports/net/address.ts";
import type { ExitCode } from "../../terminal/exit_codes.ts";

/** Result of one check. */
export interface Finding {
  /** Name of the check. */
  check: string;
  state: "ok" | "warning" | "failed";
  /** Result in words. */
  text: string;
  /** How to correct it. */
  advice?: string;
  /** Exit code of the program if this is the first failure. */
  exitCode?: ExitCode;
}

/** Time limits of a check. */
export interface Patience {
  timeoutMs: number;
  signal: AbortSignal;
}

/** Returns the finding of a check that passed. */
export function ok(check: string, text: string): Finding {
  return { check, state: "ok", text };
}

/** Returns the finding of a check that passed but needs attention. */
export function warning(check: string, text: string, advice: string): Finding {
  return { check, state: "warning", text, advice };
}

/** Returns the finding of a check that failed. */
export function failed(check: string, text: string, advice: string, exitCode: ExitCode): Finding {
  return { check, state: "failed", text, advice, exitCode };
}

/**
 * Returns which settings are in use and where they come from. For a secret, returns only whether it is set and where it
 * comes from. Adds a failure if only one of the trade password and its key is set.
 */
export function settingsFinding({ settings, origins, file }: LoadedSettings): Finding[] {
  const secret = (name: "tradePassword" | "tradePasswordKey") =>
    settings[name] === undefined ? "missing" : `set (${origins[name]})`;
  const found = ok(
    "settings",
    `gateway ${shownAddress(settings.gatewayUrl)} (${origins.gatewayUrl}); ${
      file === undefined ? "no settings file" : `file ${file}`
    }; ` +
      `trade password ${secret("tradePassword")}; its key ${secret("tradePasswordKey")}`,
  );
  if ((settings.tradePassword === undefined) === (settings.tradePasswordKey === undefined)) return [found];
  return [
    found,
    failed(
      "trade password",
      `either the trade password or its key is missing`,
      "Set both HSGATE_TRADE_PASSWORD and HSGATE_TRADE_PASSWORD_KEY, or neither",
      2,
    ),
  ];
}

/** Returns the problems of the gateway's own file, and how its ports differ from the settings. */
export function configFindings(config: GatewayConfig, { gatewayUrl, pushAddress }: Settings): Finding[] {
  const { listenIp, listenHttpPort, listenTcpPort, problems, unusable } = config;
  if (unusable.length > 0) {
    return unusable.map((text) =>
      failed("config.xml", text, "Correct the file and start the gateway again", 2)
    );
  }
  const findings = [
    ok("config.xml", `listens on ${listenIp}, HTTP ${listenHttpPort}, pushes ${listenTcpPort}`),
  ];
  for (const problem of problems) {
    findings.push(warning("config.xml", problem, "Correct the file and start the gateway again"));
  }
  const { port } = new URL(gatewayUrl);
  if (Number(port || 80) !== listenHttpPort) {
    findings.push(warning(
      "config.xml",
      `the gateway listens on HTTP port ${listenHttpPort}, but the settings say ${port || 80}`,
      `Use --gateway http://127.0.0.1:${listenHttpPort}, or HSGATE_GATEWAY_URL`,
    ));
  }
  const push = Number(pushAddress?.split(":").at(-1) ?? 11_112);
  if (push !== listenTcpPort) {
    findings.push(warning(
      "config.xml",
      `the gateway pushes on port ${listenTcpPort}, but the settings say ${push}`,
      `Use --push 127.0.0.1:${listenTcpPort}, or HSGATE_PUSH_ADDRESS`,
    ));
  }
  return findings;
}

/**
 * Warns if the environment names a proxy, because some requests to the broker then go through it. Requests to this
 * machine never use a proxy.
 *
 * @param what Which requests go through the proxy, and which do not: `logins go through it, but the sockets connect
 *   directly`.
 */
export function proxyFindings(
  env: (name: string) => string | undefined,
  { url, what }: { url: string; what: string },
): Finding[] {
  const { protocol, hostname } = new URL(url);
  if (isWithoutProxy(hostname)) return [];
  const own = protocol === "https:" ? ["HTTPS_PROXY", "https_proxy"] : ["HTTP_PROXY", "http_proxy"];
  const proxy = [...own, "ALL_PROXY", "all_proxy"].find((name) => env(name) !== undefined);
  const except = (env("NO_PROXY") ?? env("no_proxy") ?? "").split(",").map((each) => each.trim());
  if (proxy === undefined || except.some((entry) => isExcepted(hostname, entry))) return [];
  return [
    warning("proxy", `${proxy} is set: ${what}`, `Set NO_PROXY=${hostname}, unless you want the proxy`),
  ];
}

/**
 * Returns whether an entry of `NO_PROXY` applies to a host, as the runtime decides it: an entry of letters also applies
 * to all names below it, and `*` to all names, but not to addresses. A range of addresses is written as `10.0.0.0/8`.
 */
function isExcepted(hostname: string, entry: string): boolean {
  const address = ipv4Of(hostname);
  if (address === undefined) {
    const name = entry.replace(/^\./, "");
    return entry === "*" || name !== "" && `.${hostname}`.endsWith(`.${name}`);
  }
  const [network = "", bits = "32"] = entry.split("/");
  const size = 2 ** (32 - Number(bits));
  const first = ipv4Of(network);
  return first !== undefined && Math.floor(first / size) === Math.floor(address / size);
}

/** Returns an IPv4 address as a number; `undefined` for any other text. */
function ipv4Of(text: string): number | undefined {
  const parts = text.split(".");
  const isAddress = parts.length === 4 && parts.every((part) => /^\d{1,3}$/.test(part) && Number(part) < 256);
  return isAddress ? parts.reduce((sum, part) => sum * 256 + Number(part), 0) : undefined;
}

/** Checks that a port accepts connections. */
export async function portFinding(
  check: string,
  { hostname, port }: { hostname: string; port: number },
  { advice, exitCode, timeoutMs, signal }: {
    advice: string;
    exitCode: ExitCode;
    timeoutMs: number;
    signal: AbortSignal;
  },
): Promise<Finding> {
  const where = `${hostname}:${port}`;
  try {
    const within = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
    (await Deno.connect({ hostname, port, signal: within })).close();
    return ok(check, `${where} accepts connections`);
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (error instanceof Deno.errors.NotCapable) throw error;
    const refused = error instanceof Deno.errors.ConnectionRefused;
    return failed(check, refused ? `${where} is closed` : `${where} does not answer`, advice, exitCode);
  }
}

/** Checks that a gateway answers and is logged in to the platform. */
export async function gatewayFinding(
  client: Client,
  url: string,
  options: CallOptions & { signal: AbortSignal },
): Promise<Finding> {
  const check = "gateway";
  const { signal } = options;
  try {
    await client.account.exchangeRates({}, options);
    return ok(check, "a gateway answers and is logged in to the platform");
  } catch (error) {
    if (signal.aborted) throw error;
    if (error instanceof LoginExpiredError) {
      return failed(
        check,
        `a gateway answers, but it is not logged in to the platform (${error.text})`,
        'Type "relogin" in the gateway\'s console and look at its four status lines',
        6,
      );
    }
    if (error instanceof DisplacedError) return displaced(check);
    const status = error instanceof BrokerError ? /^http-(\d+)$/.exec(error.code ?? "")?.[1] : undefined;
    if (error instanceof BrokerError && status !== undefined && status !== "404") {
      return failed(
        check,
        `${url} answers with HTTP ${status} (${error.message})`,
        Number(status) >= 500
          ? "Check the gateway's window or log, and restart it. Is there a proxy in front of it?"
          : "Is this the address of the gateway, and is there a proxy in front of it?",
        4,
      );
    }
    const isOther = error instanceof ProtocolError && error.code !== "unexpected-shape" ||
      error instanceof RejectedError && error.code?.startsWith("http-");
    if (!isOther && (error instanceof RejectedError || error instanceof ProtocolError)) {
      const text = error instanceof RejectedError ? error.text : error.message;
      return warning(check, `a gateway answers, but says: ${text}`, "Check the gateway's log");
    }
    if (isOther) {
      return failed(
        check,
        `something answers at ${url}, but it is not the gateway`,
        "Another program has this port: end it, or give the gateway another port (listenHttpPort in its config.xml) " +
          "and name it with --gateway",
        4,
      );
    }
    if (error instanceof TransportError) {
      return failed(
        check,
        error.code === "timeout"
          ? `${url} accepted the call but did not answer in time`
          : error.code === "connection-lost"
          ? `${url} closed the connection without an answer: perhaps it is not the gateway`
          : error.message,
        "Check the gateway's window or log; restart it if it hangs. Is this the address of its HTTP port?",
        4,
      );
    }
    throw error;
  }
}

function displaced(check: string): Finding {
  return failed(
    check,
    "another device or program has logged in with this account",
    'Close the other one, then type "relogin" in the gateway\'s console',
    6,
  );
}

const SET_THE_CLOCK =
  "Set the clock (NTP): hsgate derives days and sessions from it, and with a wrong clock no day book becomes final";

/**
 * Compares this machine's clock with the time in the broker's answers. Also compares it with the time of a quote,
 * because a gateway on this machine would have the same wrong clock.
 */
export async function clockFindings(
  client: Client,
  clock: BrokerClock,
  signal: AbortSignal,
): Promise<Finding[]> {
  const check = "clock";
  const { last, wrong } = clock;
  if (wrong !== undefined) {
    return [warning(check, `${describeDifference(wrong)} (${wrong.source})`, SET_THE_CLOCK)];
  }
  const quoted = await askQuoteTime(client, signal);
  if (quoted !== undefined) {
    clock.takeQuote(quoted);
    const shown = `a quote of 00700.HK has the time ${timeInHongKong(quoted)}`;
    const { wrong: byQuote } = clock;
    if (byQuote !== undefined) {
      const text = byQuote.ms < 0
        ? `${shown}, which is in the future by this machine's clock`
        : `${shown}, older than the last session by this machine's clock`;
      return [
        warning(
          check,
          text,
          byQuote.ms < 0 ? SET_THE_CLOCK : `Is this machine's clock ahead? ${SET_THE_CLOCK}`,
        ),
      ];
    }
    if (last === undefined) {
      return [ok(check, `the broker's answers contain no time; ${shown}, which fits this machine's clock`)];
    }
  }
  if (last === undefined) {
    return [warning(
      check,
      "the broker's time is unknown: its answers contain none, and it sends no quote",
      "Check this machine's clock (NTP): until the broker's time is known, a day of the day book becomes final " +
        "only a week after it ended",
    )];
  }
  const seconds = Math.max(1, Math.round(Math.abs(last.ms) / 1000));
  return [ok(check, `within ${seconds} s of the broker's (${last.source})`)];
}

function timeInHongKong(time: number): string {
  const zone = "Asia/Hong_Kong";
  const at = Temporal.Instant.fromEpochMilliseconds(time).toZonedDateTimeISO(zone);
  return `${at.toPlainDateTime().toString().replace("T", " ")} ${zone}`;
}

/**
 * Returns a warning if a trade password is set, but not the user's account numbers: hsgate compares each order push
 * with these numbers.
 */
export function accountFindings({ tradePassword, fundAccounts }: Settings): Finding[] {
  if (tradePassword === undefined || fundAccounts !== undefined) return [];
  return [warning(
    "order pushes",
    "fundAccounts is not set: hsgate cannot distinguish an order push of another account from yours",
    "Set HSGATE_FUND_ACCOUNTS (or ..._FILE) to your account numbers, separated by commas",
  )];
}

/** Checks the trade login; logs in if a password is set. */
export async function tradeLoginFindings(
  client: Client,
  settings: Settings,
  signal: AbortSignal,
): Promise<Finding[]> {
  const check = "trade login";
  const hasPassword = settings.tradePassword !== undefined && settings.tradePasswordKey !== undefined;
  try {
    if (hasPassword) await client.account.login({}, { signal });
    await client.account.funds({ market: "hk" }, { signal });
    return [ok(check, hasPassword ? "the trade password is right; logged in" : "logged in")];
  } catch (error) {
    if (signal.aborted) throw error;
    if (error instanceof DisplacedError) return [displaced(check)];
    if (
      error instanceof LoginRefusedError && (error.code === "1003" || /crypt|加密|解密/i.test(error.text))
    ) {
      return [failed(
        check,
        `the login was rejected: the broker cannot decrypt the password, so its key is wrong (${error.text})`,
        "Check HSGATE_TRADE_PASSWORD_KEY against the developer page",
        6,
      )];
    }
    if (error instanceof LoginRefusedError && error.reason === "temporary") {
      return [failed(
        check,
        `the broker rejects the login: ${error.text === "" ? `it says only ${error.code}` : error.text}`,
        "Read the broker's message; it does not mention the password. Try again later",
        6,
      )];
    }
    if (error instanceof LoginRefusedError) {
      return [failed(
        check,
        `the login was rejected: wrong trade password, or the wrong key for it${
          error.text === "" ? "" : ` (${error.text})`
        }`,
        "Check the password against the broker's app, and the key against the developer page; too many wrong tries " +
          "can lock the account, so do not repeat this",
        6,
      )];
    }
    if (error instanceof LoginExpiredError && settings.readOnly === "yes") {
      return [warning(
        check,
        'not logged in for trading, and the setting readOnly is "yes", so hsgate does not log in',
        'Market data needs no login; for reads of the account set readOnly to "login"',
      )];
    }
    if (error instanceof LoginExpiredError) {
      return [failed(
        check,
        `not logged in for trading (${error.text})`,
        'Type "tradelogin" in the gateway\'s console, or set HSGATE_TRADE_PASSWORD and HSGATE_TRADE_PASSWORD_KEY',
        6,
      )];
    }
    if (error instanceof RejectedError || error instanceof ProtocolError) {
      return [failed(check, error.message, "Check the gateway's log", 3)];
    }
    if (error instanceof TransportError) {
      return [failed(check, error.message, "Check the gateway's log", 4)];
    }
    throw error;
  }
}
