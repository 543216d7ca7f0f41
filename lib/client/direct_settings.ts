/**
 * From settings to the options of the direct way, or to what is missing for it.
 *
 * @module
 */
import { InvalidParamsError } from "../errors.ts";
import type { DirectOptions } from "../transports/direct.ts";
import { type SettingName, type Settings, settingVariable } from "./settings.ts";

const needed = [
  "authUrl",
  "countryCode",
  "mobile",
  "loginPassword",
  "deviceId",
  "developerPrivateKey",
  "platformPublicKey",
] as const satisfies readonly SettingName[];

/** Settings that the direct way needs and that are not there. */
export function missingForDirect(settings: Settings): SettingName[] {
  return needed.filter((name) => settings[name] === undefined);
}

/**
 * Options of the direct way.
 *
 * @throws {InvalidParamsError} With everything that is missing, and where it is set.
 */
export function directOptionsOf(settings: Settings): DirectOptions {
  const missing = missingForDirect(settings);
  if (missing.length > 0) {
    const issues = missing.map((name) => ({
      path: [name],
      value: undefined,
      expected: `it in ${settingVariable(name)} or the settings file`,
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
    ...tradeServer !== undefined && { tradeServer },
    ...hqServer !== undefined && { quoteServer: hqServer },
    ...tradePassword !== undefined && { tradePassword },
    ...parameterStyle !== undefined && { parameters: parameterStyle },
    ...caCerts !== undefined && { caCerts: [caCerts] },
    ...leaseFolder !== undefined && { leaseFolder },
  };
}
