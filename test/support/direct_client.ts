/**
 * Creates clients of the direct transport for the simulated platform.
 *
 * @module
 */
import { connect, type DirectClient, type DirectConnectOptions } from "../../lib/client/connect.ts";
import type { DirectOptions } from "../../lib/transports/direct/mod.ts";
import { ManualClock } from "../../lib/time.ts";
import { type PlatformInfo, type PlatformOptions, startPlatform } from "../../lib/simulator/platform/mod.ts";

/** Starts a platform without a timer: it processes orders and pushes changes only when the test calls `round()`. */
export function startQuietPlatform(options: Partial<PlatformOptions> = {}) {
  const clock = new ManualClock(Date.parse("2025-08-15T02:00:00Z"));
  return startPlatform({ seed: 7, days: 5, clock, pushIntervalMs: 0, ...options });
}

/** Returns the direct transport's options for a platform. */
export function directOptions(info: PlatformInfo): DirectOptions {
  return {
    url: info.authUrl,
    // The simulator's accounts use only these countries.
    country: info.countryCode as DirectOptions["country"],
    mobile: info.mobile,
    password: info.loginPassword,
    deviceId: "AA:BB:CC:00:11:22",
    privateKey: info.developerPrivateKey,
    platformKey: info.platformPublicKey,
    leaseFolder: false,
    reconnect: { minMs: 5, maxMs: 40 },
  };
}

/** Connects to a platform. */
export function connectDirect(
  info: PlatformInfo,
  options: Partial<DirectOptions> = {},
  rest: Partial<DirectConnectOptions> = {},
): Promise<DirectClient> {
  return connect({
    direct: { ...directOptions(info), ...options },
    tradePassword: info.tradePassword,
    retry: { waitMs: 5 },
    ...rest,
  });
}
