/** Tests that the connections of a world behave like real sockets. */
import { assertEquals } from "@std/assert";
import { ambient } from "../../lib/swarm/ambient.ts";
import { Network } from "../../lib/swarm/pipes.ts";
import { outside, World } from "../../lib/swarm/world.ts";

/** Uses sockets, and returns what happened in words. */
async function useSockets(): Promise<string[]> {
  const said: string[] = [];
  const text = new TextDecoder();
  const bytes = new TextEncoder();
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const serving = (async () => {
    const first = await listener.accept();
    const buffer = new Uint8Array(100);
    let got = "";
    while (got.length < 10) got += text.decode(buffer.subarray(0, (await first.read(buffer)) ?? 0));
    said.push(`server reads ${got}`);
    await first.write(bytes.encode("answer"));
    await first.closeWrite();
    said.push(`server reads ${await first.read(buffer)} after the client's end`);
    first.close();
  })();
  const client = await Deno.connect({ hostname: "127.0.0.1", port: listener.addr.port });
  await client.write(bytes.encode("hello"));
  await client.write(bytes.encode("world"));
  const small = new Uint8Array(4);
  let answer = "";
  for (let count; (count = await client.read(small)) !== null;) {
    answer += text.decode(small.subarray(0, count));
  }
  said.push(`client reads ${answer}, then the end`);
  client.close();
  await serving;
  const nameOf = (error: unknown) => error instanceof Error ? error.name : String(error);
  said.push(`reading a closed connection: ${await client.read(small).catch(nameOf)}`);
  const { port } = listener.addr;
  const accepting = listener.accept().then(() => "accepted", nameOf);
  listener.close();
  said.push(`accepting at a closed port: ${await accepting}`);
  said.push(
    `connecting to a closed port: ${await Deno.connect({ hostname: "127.0.0.1", port }).then(
      () => "open",
      nameOf,
    )}`,
  );
  const stop = new AbortController();
  stop.abort(new Error("too late"));
  const late = Deno.connect({ hostname: "127.0.0.1", port, signal: stop.signal }).then(() => "open", String);
  said.push(`connecting with an aborted signal: ${await late}`);
  return said;
}

Deno.test("connections of a world behave like real sockets", async () => {
  const real = await useSockets();
  const virtual = await outside(async () => {
    const world = new World(1, 0);
    using _ = ambient(world, new Network(world));
    let said: string[] | undefined;
    const process = world.process("one");
    world.schedule(0, process, "begin", () => void useSockets().then((found) => said = found));
    while (said === undefined && await world.step(60_000));
    world.end();
    return said;
  });
  assertEquals(virtual, real);
});

Deno.test("nothing of a process that was killed continues", async () => {
  const said: string[] = [];
  await outside(async () => {
    const world = new World(1, 0);
    using _ = ambient(world, new Network(world));
    const process = world.process("one");
    world.schedule(0, process, "begin", () => {
      setTimeout(() => said.push("timer before"), 10);
      setTimeout(() => said.push("timer after"), 30);
      void (async () => {
        await new Promise((resolve) => setTimeout(resolve, 15));
        said.push("promise before");
        await new Promise((resolve) => setTimeout(resolve, 15));
        said.push("promise after");
      })();
    });
    world.schedule(20, undefined, "kill", () => process.kill());
    while (await world.step(1_000));
    assertEquals([world.now, process.isAlive], [1_000, false]);
    world.end();
  });
  assertEquals(said, ["timer before", "promise before"]);
});
