/**
 * From settings to the options of a connection.
 *
 * @module
 */
import type { ConnectOptions, DirectConnectOptions } from "./connect.ts";
import { directOptionsOf } from "./direct_settings.ts";
import { accountsOf, type Settings } from "./settings.ts";

/** Who connects. */
export interface Caller {
  /** Name of the program, as a second one is told it that wants the same trade connection. */
  program: string;
  /** An environment variable, to find the user's own folders. */
  env: (name: string) => string | undefined;
}

/**
 * Options for `connect` over the transport that the settings name. There is a login only where the trade password,
 * and for the gateway its key, are set.
 *
 * @throws {InvalidParamsError} With everything that is missing for the direct transport.
 */
export function connectOptionsOf(settings: Settings, caller: Caller): ConnectOptions | DirectConnectOptions {
  const { transport, gatewayUrl, pushAddress, plainHttp, tradePassword, tradePasswordKey } = settings;
  const { timeoutMs, pushIdleMs } = settings;
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
      ...pushAddress !== undefined && { push: pushAddress },
    },
    // Without its key the password cannot be sent, and whoever is logged in at the gateway can call all the same.
    ...tradePassword !== undefined && tradePasswordKey !== undefined && { tradePassword, tradePasswordKey },
  };
}
