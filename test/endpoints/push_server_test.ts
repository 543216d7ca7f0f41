import { assertEquals } from "@std/assert";
import { PushServer } from "../../lib/endpoints/push_server.ts";
import { waitUntil } from "../support/waits.ts";

const HEADER = 151;
const options = { hostname: "127.0.0.1", port: 0, bufferLimit: 1_000_000 };

/** Counts what a connection receives until the server closes it. */
async function received(conn: Deno.TcpConn, onBytes: (count: number) => void = () => {}): Promise<number> {
  let total = 0;
  const bin = new Uint8Array(1_000_000);
  for (let count; (count = await conn.read(bin)) !== null;) {
    total += count;
    onBytes(total);
  }
  return total;
}

Deno.test("PushServer closes the connection of a reader that is too slow, and no other", async () => {
  const server = new PushServer(options);
  using slow = await Deno.connect({ hostname: "127.0.0.1", port: server.port });
  using quick = await Deno.connect({ hostname: "127.0.0.1", port: server.port });
  await waitUntil("two connections", () => server.connections >= 2);
  let seen = 0;
  const reading = received(quick, (total) => seen = total);
  let sent = 0;
  for (; server.cutOff === 0 && sent < 1000; sent++) {
    server.send(new Uint8Array(100_000));
    await waitUntil("every byte", () => seen >= (sent + 1) * (100_000 + HEADER));
  }
  await waitUntil("one connection", () => server.connections === 1);
  assertEquals(server.cutOff, 1);
  // The slow reader receives what was written before the server closed its connection, and no more.
  assertEquals(await received(slow) < sent * (100_000 + HEADER), true);
  await server.close();
  assertEquals(await reading, sent * (100_000 + HEADER));
});

Deno.test("PushServer.send() with cutAfter sends the first bytes of a frame and closes the connection; later connections work", async () => {
  const server = new PushServer(options);
  using first = await Deno.connect({ hostname: "127.0.0.1", port: server.port });
  await waitUntil("a connection", () => server.connections === 1);
  server.send(new Uint8Array(10));
  server.send(new Uint8Array(10), 7);
  assertEquals([server.connections, await received(first)], [0, HEADER + 10 + 7]);
  using second = await Deno.connect({ hostname: "127.0.0.1", port: server.port });
  await waitUntil("another connection", () => server.connections === 1);
  server.disconnect();
  assertEquals([server.connections, await received(second), server.cutOff], [0, 0, 0]);
  await server.close();
});
