/**
 * Loads and starts the direct transport. Clients of the gateway do not load its other modules.
 *
 * @module
 */
import type { DirectTransport } from "./direct_transport.ts";
import type { DirectOptions } from "./options.ts";
import { lazily } from "../../lazy.ts";

export type { DirectTransport } from "./direct_transport.ts";
export { describeDirectEvent } from "./events.ts";
export type { ChannelName, DirectEvent, DirectState } from "./events.ts";
export type { DirectOptions } from "./options.ts";

const loadTransport = lazily(() => import("./direct_transport.ts"));

/**
 * Creates a transport that connects to the platform itself. It sends nothing before the first call.
 *
 * @throws {TypeError} If a key or an address is invalid. The message contains no part of a key.
 */
export async function direct(options: DirectOptions): Promise<DirectTransport> {
  const { createDirectTransport } = await loadTransport();
  return await createDirectTransport(options);
}
