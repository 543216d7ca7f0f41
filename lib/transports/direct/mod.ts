/**
 * Loads and starts the direct transport. Clients of the gateway do not load its other modules.
 *
 * @module
 */
import type { DirectTransport } from "./direct_transport.ts";
import type { DirectOptions } from "./options.ts";

export type { DirectTransport } from "./direct_transport.ts";
export { describeDirectEvent } from "./events.ts";
export type { ChannelName, DirectEvent, DirectState } from "./events.ts";
export type { DirectOptions } from "./options.ts";

/**
 * Creates a transport that connects to the platform itself. It sends nothing before the first call.
 *
 * @throws {TypeError} If a key or an address is unreadable. The message contains neither.
 */
export async function direct(options: DirectOptions): Promise<DirectTransport> {
  const { createDirectTransport } = await import("./direct_transport.ts");
  return await createDirectTransport(options);
}
