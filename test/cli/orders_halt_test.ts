/** Tests that `halt` in one process stops the orders of another process. */
import { assert, assertEquals } from "@std/assert";
import { testBoth } from "../support/stores.ts";
import { readUntil } from "../support/waits.ts";
import { envOf, folder, KEY, PASSWORD, simulate, spawned, storeEnv } from "./support.ts";

/** Longest wait of a test that fails. A test that passes does not depend on this limit. */
const LIMIT = { limitMs: 300_000 };
const ATTEMPTS = 20;

testBoth(
  "after the command halt has ended, a process that trades in a loop sends no further order",
  async ({ where, open }) => {
    await using files = await folder();
    await using elsewhere = await folder();
    await using gateway = await simulate();
    await (await open())[Symbol.asyncDispose](); // creates the store
    let arrived = 0;
    const { broker } = gateway;
    const call = broker.call.bind(broker);
    broker.call = (name, params) => {
      if (name === "orders.place") arrived++;
      return call(name, params);
    };
    const trader = new Deno.Command(Deno.execPath(), {
      args: [
        ...["run", "-A", `--config=${new URL("../../deno.json", import.meta.url).pathname}`],
        new URL("orders_halt_child.ts", import.meta.url).pathname,
        ...[gateway.info.gatewayUrl, KEY, PASSWORD, where],
      ],
      cwd: files.path,
      stdin: "piped",
      stdout: "piped",
    }).spawn();
    const lines = trader.stdout.pipeThrough(new TextDecoderStream()).getReader();
    const count = (text: string, line: string) => text.split("\n").filter((each) => each === line).length;
    let text = "";
    try {
      text = await readUntil("orders", lines, (read) => count(read, "sent") >= 5, LIMIT);
      // If the store is on a server, the halt file in this folder does not stop the other process. Only the row in the
      // store does.
      const halted = await spawned(["halt", "--why", "lunch"], {
        env: { ...envOf(gateway), ...storeEnv(files), HSGATE_STORE: where },
        cwd: elsewhere.path,
      });
      const before = arrived;
      assertEquals(halted.code, 0, halted.err);
      const isOver = (read: string) => arrived - before > 1 || count(read, "halted") >= ATTEMPTS;
      text = await readUntil("refusals", lines, isOver, { ...LIMIT, text });
      // The loop waits for each order. So only one order can have been on its way when the halt was written.
      assert(arrived - before <= 1, `${arrived - before} orders arrived after the halt`);
      const afterwards = text.slice(text.indexOf("halted"));
      assertEquals([count(afterwards, "sent"), arrived], [0, count(text, "sent")]);
    } finally {
      await trader.stdin.close();
      while (!(await lines.read()).done);
      await trader.status;
    }
  },
);
