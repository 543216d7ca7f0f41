/**
 * Builds the options of a connection from settings, or lists the missing settings.
 *
 * @module
 */
import { InvalidParamsError } from "../errors.ts";
import type { DirectOptions } from "../transports/direct/mod.ts";
import type { ConnectOptions, DirectConnectOptions } from "./connect.ts";
import { accountsOf, type SettingName, type Settings, settingVariable } from "./settings.ts";

/** The program that connects. */
interface Caller {
  /** Name of the program. A second program that needs the same trade connection gets an error with this name. */
  program: string;
  /** Returns an environment variable, to find the user's own folders. */
  env: (name: string) => string | undefined;
}

/**
 * Returns options for `connect` over the transport that the settings name. They include a login only if the trade
 * password is set; for the gateway, the password's key must be set too.
 *
 * @throws {InvalidParamsError} Lists everything that is missing for the direct transport.
 */
export function connectOptionsOf(settings: Settings, caller: Caller): ConnectOptions | DirectConnectOptions {
  const { transport, gatewayUrl, pushAddress, plainHttp, tradePassword, tradePasswordKey } = settings;
  const { timeoutMs, pushIdleMs, readOnly } = settings;
  const pushes = settings.fundAccounts === undefined
    ? {}
    : { fundAccounts: accountsOf(settings.fundAccounts) };
  if (transport === "direct") {
    return {
      ...pushes,
      direct: { ...directOptionsOf(settings), ...caller },
      ...tradePassword !== undefined && { tradePassword },
    };
  }
  return {
    ...pushes,
    gateway: {
      url: gatewayUrl,
      timeoutMs,
      pushIdleMs,
      plainHttp: plainHttp === "allow",
      ...readOnly !== "no" && { readOnly },
      ...pushAddress !== undefined && { push: pushAddress },
    },
    // The password cannot be sent without its key. Calls then use the login that the gateway already has.
    ...tradePassword !== undefined && tradePasswordKey !== undefined && { tradePassword, tradePasswordKey },
  };
}

const needed = [
  "authUrl",
  "countryCode",
  "mobile",
  "loginPassword",
  "deviceId",
  "developerPrivateKey",
  "platformPublicKey",
] as const satisfies readonly SettingName[];

/** Returns the missing settings that the direct transport needs. */
export function missingForDirect(settings: Settings): SettingName[] {
  return needed.filter((name) => settings[name] === undefined);
}

/**
 * Returns the options of the direct transport.
 *
 * @throws {InvalidParamsError} Lists everything that is missing, and where to set it.
 */
export function directOptionsOf(settings: Settings): DirectOptions {
  const missing = missingForDirect(settings);
  if (missing.length > 0) {
    const issues = missing.map((name) => ({
      path: [name],
      value: undefined,
      expected: `a value in ${settingVariable(name)} or in the settings file`,
    }));
    throw new InvalidParamsError("use the direct transport", issues, { code: "settings" });
  }
  const { authUrl, countryCode, mobile, loginPassword, deviceId, developerPrivateKey, platformPublicKey } =
    settings;
  const { tradeServer, hqServer, tradePassword, parameterStyle, caCerts, leaseFolder, timeoutMs } = settings;
  return {
    // None of these is missing.
    url: authUrl!,
    country: countryCode!,
    mobile: mobile!,
    password: loginPassword!,
    deviceId: deviceId!,
    privateKey: developerPrivateKey!,
    platformKey: platformPublicKey!,
    timeoutMs,
    ...settings.readOnly !== "no" && { readOnly: settings.readOnly },
    ...tradeServer !== undefined && { tradeServer },
    ...hqServer !== undefined && { quoteServer: hqServer },
    ...tradePassword !== undefined && { tradePassword },
    ...parameterStyle !== undefined && { parameters: parameterStyle },
    ...caCerts !== undefined && { caCerts: [caCerts] },
    ...leaseFolder !== undefined && { leaseFolder },
  };
}
