/**
 * Tests requests to the gateway that are cut at every byte (fault F03). `direct_link_test.ts` cuts requests over the
 * socket, at some of their bytes.
 */
import { assert, assertEquals } from "@std/assert";
import { OutcomeUnknownError } from "../../mod.ts";
import { createClient } from "../../lib/client/client.ts";
import { gateway } from "../../lib/transports/gateway.ts";
import { openSimulatedAccount, ORDER } from "../conformance/simulated_account.ts";

/**
 * Starts a proxy that forwards the first `passBytes` bytes of a connection, waits for the end of the answer, and closes
 * both sides. It forwards answers unless `withAnswer` is false.
 */
function startCutter(address: { hostname: string; port: number }) {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const state = { port: listener.addr.port, passBytes: Infinity, withAnswer: true, connections: 0, seen: 0 };
  const running: Promise<void>[] = [];
  const accepting = (async () => {
    for await (const client of listener) running.push(serve(client));
  })();
  async function serve(client: Deno.TcpConn): Promise<void> {
    state.connections++;
    const server = await Deno.connect(address);
    const buffer = new Uint8Array(65_536);
    let left = state.passBytes;
    const answers = (async () => {
      const answer = new Uint8Array(65_536);
      for (let count; (count = await server.read(answer).catch(() => null)) !== null;) {
        if (state.withAnswer) await client.write(answer.subarray(0, count)).catch(() => 0);
      }
    })();
    while (left > 0) {
      const count = await client.read(buffer).catch(() => null);
      if (count === null) break;
      state.seen += count;
      const passed = buffer.subarray(0, Math.min(count, left));
      left -= passed.length;
      for (let at = 0; at < passed.length;) at += await server.write(passed.subarray(at));
    }
    // Let the gateway receive all forwarded bytes, so that it has to handle half a request.
    await server.closeWrite().catch(() => {});
    await answers;
    for (const conn of [client, server]) conn.close();
  }
  return Object.assign(state, {
    async [Symbol.asyncDispose]() {
      listener.close();
      await accepting;
      await Promise.all(running);
    },
  });
}

Deno.test("a request cut after any number of bytes creates no order, and is sent once", async () => {
  await using testAccount = await openSimulatedAccount();
  const { gatewayUrl, tradePassword, tradePasswordKey } = testAccount.simulator.info;
  const { hostname, port } = new URL(gatewayUrl);
  await using cutter = startCutter({ hostname, port: Number(port) });
  const url = `http://127.0.0.1:${cutter.port}`;
  await using client = createClient(gateway({ url, tradePasswordKey }), { tradePassword });
  await client.account.login();
  await client.orders.place(ORDER);
  // Measure the length of a whole request.
  const before = cutter.seen;
  await client.orders.place(ORDER);
  const length = cutter.seen - before;
  assert(length > 200, `${length} bytes`);
  const sent = testAccount.count("orders.place");
  const connections = cutter.connections;
  cutter.withAnswer = false;
  for (let bytes = 1; bytes < length; bytes++) {
    cutter.passBytes = bytes;
    const error = await client.orders.place(ORDER).catch((thrown: unknown) => thrown);
    assert(error instanceof OutcomeUnknownError, `cut after ${bytes} bytes: ${error}`);
  }
  assertEquals([sent(), (await testAccount.orderIds()).length], [0, 2]);
  assertEquals(
    cutter.connections - connections,
    length - 1,
    "each was sent once, on a connection of its own",
  );
  // Control: with the last byte, the order is placed. The outcome is unknown, because the answer is not forwarded.
  cutter.passBytes = length;
  const error = await client.orders.place(ORDER).catch((thrown: unknown) => thrown);
  assert(error instanceof OutcomeUnknownError);
  assertEquals([sent(), (await testAccount.orderIds()).length], [1, 3]);
});
