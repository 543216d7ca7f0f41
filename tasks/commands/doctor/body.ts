/**
 * Runs `hsgate doctor`.
 *
 * @module
 */
import { builtInCalendars } from "../../../lib/calendars/mod.ts";
import { ConfigXmlError, readConfigXml } from "../../../lib/client/config_xml.ts";
import { BrokerClock } from "../../../lib/client/broker_clock.ts";
import { createClient } from "../../../lib/client/client.ts";
import type { LoadedSettings } from "../../../lib/client/load_settings.ts";
import type { Settings } from "../../../lib/client/settings.ts";
import { gateway } from "../../../lib/transports/gateway.ts";
import { shownAddress } from "../../../lib/transports/net/address.ts";
import type { DoctorInput } from "../doctor.ts";
import { UsageError } from "../../terminal/exit_codes.ts";
import { wrap } from "../../terminal/help.ts";
import type { Host } from "../../terminal/host.ts";
import { type Color, paint, plain } from "../../terminal/print.ts";
import { directOf, foundSettings, settingsOf } from "../shared/session.ts";
import {
  accountFindings,
  clockFindings,
  configFindings,
  failed,
  type Finding,
  gatewayFinding,
  type Patience,
  portFinding,
  proxyFindings,
  settingsFinding,
  tradeLoginFindings,
} from "./findings.ts";

/** Maximum wait of a check, unless the timeout in the settings is shorter. */
const PATIENCE_MS = 5000;

/** Runs all checks, prints the findings, and returns the exit code of the first failure. */
export async function run({ flags, host }: DoctorInput): Promise<number> {
  const findings: Finding[] = [];
  for await (const finding of examine(flags, host)) {
    // The text may contain secrets or control characters from settings, paths and errors.
    const shown = { ...finding, text: plain((host.errorText ?? String)(finding.text)) };
    findings.push(shown);
    if (!flags.json) print(shown, host);
  }
  const firstFailure = findings.find(({ state }) => state === "failed");
  if (flags.json) {
    const shown = findings.map(({ exitCode: _, ...finding }) => finding);
    host.out(JSON.stringify({ ok: firstFailure === undefined, findings: shown }));
  } else {
    const failures = findings.filter(({ state }) => state === "failed").length;
    host.out("");
    const warnings = findings.filter(({ state }) => state === "warning").map(({ check }) => check);
    host.out(
      failures > 0
        ? `${failures} of ${findings.length} checks failed.`
        : warnings.length > 0
        ? `No check failed. Look at ${warnings.length === 1 ? "the warning" : "the warnings"} about: ${
          [...new Set(warnings)].join(", ")
        }.`
        : "All checks passed.",
    );
  }
  return firstFailure?.exitCode ?? (firstFailure === undefined ? 0 : 1);
}

/** Yields each finding as soon as it is known. A check that depends on a failed one does not run. */
async function* examine(flags: DoctorInput["flags"], host: Host): AsyncGenerator<Finding> {
  const found = await foundSettings(flags, host);
  if (found?.refused !== undefined) {
    const { why, advice } = found.refused;
    yield failed("settings", why, advice, 2);
    return;
  }
  const loaded = await settingsOf(flags, host);
  const file = flags["config-xml"];
  if (file !== undefined && loaded.settings.transport === "direct") {
    throw new UsageError("Cannot use --config-xml over the direct transport: it is the gateway's file");
  }
  const configured = file === undefined ? [] : await readConfig(file, loaded, host);
  const { settings } = loaded;
  const { storeFindings } = await import("./store_findings.ts"); // loads the runner only here
  if (settings.transport === "direct") {
    yield* examineDirect(loaded, host);
    return yield* await storeFindings(flags, host);
  }
  yield* settingsFinding(loaded);
  yield* await storeFindings(flags, host);
  yield* configured;
  // If config.xml cannot be used, any address would be a guess, so send nothing.
  if (configured.some(({ state }) => state === "failed")) return;
  yield* proxyFindings(host.env, {
    url: settings.gatewayUrl,
    what: "reads go through that proxy, but writes and pushes connect directly",
  });
  const { gatewayUrl, pushAddress, timeoutMs } = settings;
  const plainHttp = settings.plainHttp === "allow";
  const patience = { timeoutMs: Math.min(timeoutMs, PATIENCE_MS), signal: host.signal };
  const url = new URL(gatewayUrl);
  const httpPort = await portFinding("HTTP port", { hostname: hostOf(url), port: Number(url.port || 80) }, {
    ...patience,
    advice:
      "Start the gateway, or name the address it listens on with --gateway (its config.xml says listenHttpPort)",
    exitCode: 4,
  });
  yield httpPort;
  if (httpPort.state === "ok") yield* askGateway(settings, patience, host);
  const transport = gateway({
    url: gatewayUrl,
    plainHttp,
    ...pushAddress !== undefined && { push: pushAddress },
  });
  if (transport.push !== undefined) {
    yield await portFinding("push port", transport.push, {
      ...patience,
      advice:
        "Orders and calls work without it; live pushes do not. Name it with --push (config.xml: listenTcpPort)",
      exitCode: 4,
    });
    yield* accountFindings(settings);
  }
}

async function* askGateway(
  settings: Settings,
  { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal },
  { now }: Host,
): AsyncGenerator<Finding> {
  const { gatewayUrl, tradePassword, tradePasswordKey } = settings;
  const plainHttp = settings.plainHttp === "allow";
  const canLogIn = tradePassword !== undefined && tradePasswordKey !== undefined;
  // Use no password here: the server may not be a gateway.
  const anonymous = createClient(gateway({ url: gatewayUrl, plainHttp, timeoutMs }), {
    retry: { attempts: 1 },
  });
  const clock = new BrokerClock(now, builtInCalendars);
  const found = await gatewayFinding(anonymous, shownAddress(gatewayUrl), {
    signal,
    onBrokerTime: clock.take,
  });
  yield found;
  if (found.state === "failed") return;
  yield* await clockFindings(anonymous, clock, signal);
  await using client = createClient(
    gateway({ url: gatewayUrl, plainHttp, timeoutMs, ...canLogIn && { tradePasswordKey } }),
    {
      retry: { attempts: 1 },
      ...canLogIn && { tradePassword },
    },
  );
  yield* await tradeLoginFindings(client, settings, signal);
}

/** Checks the platform itself. Logs in last, because a login ends any other session of the account. */
async function* examineDirect(loaded: LoadedSettings, host: Host): AsyncGenerator<Finding> {
  const { settings } = loaded;
  const platform = await import("./platform_findings.ts");
  const found = platform.directSettingsFinding(loaded);
  yield found;
  if (found.state === "failed") return;
  const keys = platform.keyFindings(settings);
  yield* keys;
  const hasKeys = keys.every(({ state }) => state === "ok");
  const lease = hasKeys ? await platform.leaseFinding(settings, host) : undefined;
  if (lease !== undefined) yield lease;
  // Behind a proxy, the platform compares the proxy's address with its whitelist.
  yield* proxyFindings(host.env, {
    url: settings.authUrl ?? "",
    what:
      "logins go through that proxy, but the sockets connect directly; both addresses must be on the whitelist",
  });
  const patience: Patience = {
    timeoutMs: Math.min(settings.timeoutMs, PATIENCE_MS),
    signal: host.signal,
  };
  let isReached = true;
  for await (const finding of platform.wayFindings(settings, patience)) {
    yield finding;
    isReached &&= finding.state === "ok";
  }
  if (!isReached) return;
  for await (const finding of platform.httpFindings(settings, host.now, patience)) {
    yield finding;
    isReached &&= finding.state !== "failed";
  }
  if (!isReached || lease?.state !== "ok") return;
  const [{ connect }, { sessionFindings }] = await Promise.all([
    import("../../../lib/client/connect.ts"),
    import("./direct_findings.ts"),
  ]);
  const { tradePassword } = settings;
  const { timeoutMs } = patience;
  await using client = await connect({
    direct: { ...await directOf(settings, host, "doctor"), timeoutMs, connectTimeoutMs: timeoutMs },
    ...tradePassword !== undefined && { tradePassword },
    retry: { attempts: 1 },
  });
  yield* sessionFindings(client, settings, patience);
  yield* accountFindings(settings);
}

/** Reads the gateway's own settings. Uses the addresses in them if no other setting gives an address. */
async function readConfig(path: string, loaded: LoadedSettings, host: Host): Promise<Finding[]> {
  const file = await host.readFile(path);
  if (file === undefined) {
    throw new UsageError(`Cannot read the gateway's settings: there is no file "${path}"`);
  }
  try {
    const config = readConfigXml(file.text);
    const { settings, origins } = loaded;
    if (config.unusable.length > 0) return configFindings(config, settings);
    // A program cannot connect to an address that means "all interfaces".
    const ip = /^(0\.0\.0\.0|::)$/.test(config.listenIp) ? "127.0.0.1" : config.listenIp;
    const name = ip.includes(":") ? `[${ip}]` : ip;
    if (origins.gatewayUrl === "default") {
      settings.gatewayUrl = `http://${name}:${config.listenHttpPort}`;
      origins.gatewayUrl = path;
    }
    if (settings.pushAddress === undefined && origins.gatewayUrl === path) {
      settings.pushAddress = `${name}:${config.listenTcpPort}`;
      origins.pushAddress = path;
    }
    return configFindings(config, settings);
  } catch (error) {
    if (!(error instanceof ConfigXmlError)) throw error;
    return [{
      check: "config.xml",
      state: "failed",
      text: error.reason,
      advice: "Correct the file: <hs_gateway> contains <mobile>, <countryCode>, <privateKeyPath> and so on",
      exitCode: 2,
    }];
  }
}

/** Returns the host of a URL, without the brackets of an IPv6 address. */
const hostOf = ({ hostname }: URL) => hostname.replace(/^\[|\]$/g, "");

const marks: Readonly<Record<Finding["state"], [string, Color]>> = {
  ok: ["ok  ", "green"],
  warning: ["warn", "yellow"],
  failed: ["FAIL", "red"],
};

function print({ check, state, text, advice }: Finding, host: Host): void {
  const [mark, color] = marks[state];
  const [first = "", ...more] = wrap(text, 60);
  host.out(`${paint(host, color, mark)}  ${check.padEnd(13)} ${first}`);
  // The text can contain the broker's text. With the mark, a line of it cannot look like advice of hsgate.
  for (const line of more) host.out(`${" ".repeat(18)}| ${line}`);
  if (advice === undefined) return;
  wrap(advice, 57).forEach((line, index) =>
    host.out(`${" ".repeat(20)}${index === 0 ? "-> " : "   "}${line}`)
  );
}
