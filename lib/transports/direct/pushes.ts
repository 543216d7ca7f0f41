/**
 * The two connections as one source of pushes: orders come over the one, market data over the other.
 *
 * @module
 */
import type { BrokerError } from "../../errors.ts";
import type { PushHandlers, PushLine, PushSource } from "../push_source.ts";
import { orAborted } from "../push_waits.ts";
import { TransportError } from "../../errors.ts";
import type { Channel } from "./channel.ts";
import type { Link } from "./link.ts";

/**
 * Makes a source of channels. A break of either is a break of the line, as pushes may be missing from then on;
 * what the other one brings in the meantime is handed on all the same.
 *
 * @param always Channels that are opened with the line.
 * @param used Channels that count once something else has opened them.
 */
export function directSource(always: readonly Channel[], used: readonly Channel[]): PushSource {
  const channels = [...always, ...used];
  let onLost: ((error: BrokerError, link?: Link) => void) | undefined;

  const watch = (link: Link) => {
    void link.ended.then((error) => onLost?.(error, link));
  };

  return {
    async open({ onLife, onFrame, onPush }: PushHandlers, signal): Promise<PushLine> {
      const { promise, resolve } = Promise.withResolvers<BrokerError>();
      const open = new Set<Link>();
      let brokenSince: number | undefined;
      for (const channel of channels) {
        channel.listen({
          onLife() {
            onFrame();
            onLife();
          },
          onPush,
          onLink(link) {
            if (open.has(link)) return;
            open.add(link);
            watch(link);
          },
        });
      }
      const wanted = [...always, ...used.filter(({ isStarted }) => isStarted)];
      const links = await orAborted(Promise.all(wanted.map((channel) => channel.ready())), signal);
      onLost = (error, link) => {
        onLost = undefined;
        brokenSince = link?.lastByteAt;
        resolve(error);
      };
      for (const link of links) {
        if (open.has(link)) continue;
        open.add(link);
        watch(link);
      }
      return {
        run: () => promise,
        // The connections stay, as calls go over them too.
        close: () =>
          onLost?.(new TransportError("Cannot read pushes: the stream is closed", { code: "closed" })),
        brokenSince: () => brokenSince,
      };
    },
    close() {
      onLost = undefined;
      for (const channel of channels) channel.listen({});
    },
  };
}
