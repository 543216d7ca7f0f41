/**
 * Creates quote frames for the push benchmark, and sends them from a separate thread.
 *
 * @module
 */
import { loadEnvelopes } from "../../lib/wire/messages.ts";
import { encodeFrame } from "../../lib/wire/framing.ts";

/** Returns the frame of a push body. */
export type FrameMaker = (body: Uint8Array, index: number) => Uint8Array<ArrayBuffer>;

/**
 * Number of different frames, which the sender repeats. A stream remembers fewer pushes than this, so it drops no push
 * as a repeat.
 */
export const DISTINCT = 40_000;

/**
 * Returns quote frames of 200 securities with all members of a stock's quote, one after the other. They are
 * neither encrypted nor signed unless `frameOf` does it.
 */
export async function quoteFrames(
  count: number,
  frameOf: FrameMaker = (body) => encodeFrame({ type: "push" }, body),
): Promise<Uint8Array<ArrayBuffer>> {
  const { messages, encodeNotify } = await loadEnvelopes();
  // The stream marks pushes whose time is far from now.
  const now = Date.now();
  const frames = Array.from({ length: count }, (_, index) => {
    const security = { dataType: 10000, code: `${String(index % 200).padStart(5, "0")}.HK` };
    const bytes = messages.encode("BasicQotNotify", {
      security,
      basicQot: {
        security,
        openPrice: 380.2,
        highPrice: 390.4,
        lowPrice: 379.8,
        lastPrice: (38_520 + index) / 100,
        lastClosePrice: 381,
        priceSpread: 0.2,
        volume: 12_345_678 + index,
        turnover: 4_700_000_000 + index,
        turnoverRate: 0.13,
        amplitude: 2.1,
        secStatus: 1,
        lotSize: 100,
        tradeTime: "20251120150000",
        marketTime: "20251120150001",
        stockStatus: "1",
        volumeStr: String(12_345_678 + index),
        mktTmType: 1,
      },
    });
    const payload = { name: "BasicQotNotify", bytes };
    const id = `7b0c2b1e-0000-1000-8000-${String(index).padStart(12, "0")}`;
    return frameOf(encodeNotify({ type: 20003, id, time: now + index, payload }), index);
  });
  return new Uint8Array(await new Blob(frames).arrayBuffer());
}

/** Listens in a worker, and sends the frames repeatedly, or only once, to each client, as fast as the client reads. */
export async function startSender(
  frames: Uint8Array,
  { once = false } = {},
): Promise<{ port: number; stop: () => void }> {
  const code = `self.onmessage = async ({ data: { frames, block, once } }) => {
    const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    self.postMessage(listener.addr.port);
    for await (const connection of listener) {
      try {
        for (let at = 0;;) {
          at += await connection.write(frames.subarray(at, at + block));
          if (at < frames.length) continue;
          if (once) break;
          at = 0;
        }
      } catch { connection.close(); }
    }
  };`;
  const worker = new Worker(`data:application/javascript,${encodeURIComponent(code)}`, { type: "module" });
  const { promise, resolve } = Promise.withResolvers<number>();
  worker.onmessage = ({ data }) => resolve(data);
  worker.postMessage({ frames, block: 256 * 1024, once });
  return { port: await promise, stop: () => worker.terminate() };
}
