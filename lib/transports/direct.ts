/**
 * The door to the direct way: what a client of the gateway never uses is loaded behind it.
 *
 * @module
 */
import type { DirectTransport } from "./direct/direct_transport.ts";
import type { DirectOptions } from "./direct/options.ts";

export type { DirectTransport } from "./direct/direct_transport.ts";
export { describeDirectEvent } from "./direct/events.ts";
export type { ChannelName, DirectEvent, DirectState } from "./direct/events.ts";
export type { DirectOptions } from "./direct/options.ts";

/**
 * Makes a transport that talks to the platform itself. Nothing is sent before the first call.
 *
 * @throws {TypeError} When a key or an address cannot be read; the message shows neither.
 */
export async function direct(options: DirectOptions): Promise<DirectTransport> {
  const { createDirectTransport } = await import("./direct/direct_transport.ts");
  return await createDirectTransport(options);
}
