/**
 * Why a way does not carry an operation, as the suite expects it. What lies in the ways is written out here and not
 * read from the catalogue, so that an entry that lost its path fails the suite instead of leaving it.
 *
 * @module
 */
import type { AnyOperation } from "../../lib/operations/operation.ts";
import type { Way } from "./house.ts";

const overSocketAlone = "the gateway has no path for it; the vendor's own client sends it on the socket";
const platformAlone = "it belongs to the platform, which a gateway talks to by itself";

/** Reasons that are not in the catalogue, as they lie in the way and not in what is documented of the operation. */
const reasons: Record<string, Partial<Record<Way, string>>> = {
  "account.keepLogin": { memory: overSocketAlone, gateway: overSocketAlone },
  "account.shortSale": { memory: overSocketAlone, gateway: overSocketAlone },
  "futures.resetPassword": { memory: overSocketAlone, gateway: overSocketAlone },
  "platform.login": { memory: platformAlone, gateway: platformAlone },
  "platform.servers": { memory: platformAlone, gateway: platformAlone },
  "platform.claimLevel2": { memory: platformAlone, gateway: platformAlone },
  "platform.openConnection": {
    memory: platformAlone,
    gateway: platformAlone,
    direct: "the direct transport opens its connections itself",
  },
};

/** Why a way does not carry an operation; nothing when it does. */
export function reasonOf({ name, socket, platformPath }: AnyOperation, way: Way): string | undefined {
  const own = reasons[name]?.[way];
  if (own !== undefined) return own;
  // What the platform answers over HTTP is carried there.
  return way === "direct" && "gap" in socket && platformPath === undefined ? socket.gap : undefined;
}
