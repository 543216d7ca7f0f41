/**
 * Lists why a transport does not carry an operation. Reasons that depend on the transport are written here and not
 * taken from the catalogue. So an operation that loses its path by mistake fails the suite and is not just skipped.
 *
 * @module
 */
import type { AnyOperation } from "../../lib/operations/operation.ts";
import type { TransportName } from "./simulated_account.ts";

const onlyOverSocket = "the gateway has no path for it; the vendor's own client sends it on the socket";
const onlyForPlatform = "it belongs to the platform, which a gateway talks to by itself";

/** Reasons that depend on the transport and not on the documentation of the operation. */
const reasons: Record<string, Partial<Record<TransportName, string>>> = {
  "account.keepLogin": { memory: onlyOverSocket, gateway: onlyOverSocket },
  "account.shortSale": { memory: onlyOverSocket, gateway: onlyOverSocket },
  "futures.resetPassword": { memory: onlyOverSocket, gateway: onlyOverSocket },
  "platform.login": { memory: onlyForPlatform, gateway: onlyForPlatform },
  "platform.servers": { memory: onlyForPlatform, gateway: onlyForPlatform },
  "platform.claimLevel2": { memory: onlyForPlatform, gateway: onlyForPlatform },
  "platform.openConnection": {
    memory: onlyForPlatform,
    gateway: onlyForPlatform,
    direct: "the direct transport opens its connections itself",
  },
};

/** Returns why a transport does not carry an operation. @returns `undefined` if it does. */
export function reasonOf(
  { name, socket, platformPath }: AnyOperation,
  transport: TransportName,
): string | undefined {
  const own = reasons[name]?.[transport];
  if (own !== undefined) return own;
  // The direct transport sends operations with a `platformPath` over HTTP, so a gap of the socket does not matter for
  // them.
  return transport === "direct" && "gap" in socket && platformPath === undefined ? socket.gap : undefined;
}
