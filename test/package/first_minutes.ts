/**
 * Types the commands of README's "The first ten minutes" on two empty machines: one has only Node.js and npm, the other
 * only Deno. Only `deno task ok` runs it, and not `deno task test`, because it downloads packages.
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { pageText } from "../support/page_scripts.ts";
import { readUntil } from "../support/waits.ts";
import { Machine } from "./machine.ts";

const root = new URL("../../", import.meta.url).pathname;

/** The code blocks of that section, in order. */
const blocks = (() => {
  const [, section = ""] = /^## The first ten minutes\n([^]*?)^## /m.exec(pageText("README.md")) ?? [];
  return [...section.matchAll(/^```(\w+)\n([^]*?)^```/gm)].map(([, language = "", text = ""]) => ({
    language,
    text: text.trimEnd(),
  }));
})();

/** Two ports that nothing uses. */
function freePorts(): [string, string] {
  using one = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  using other = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return [String(one.addr.port), String(other.addr.port)];
}

/** Limit of a wait that usually takes less than a minute. */
const LONG_WAIT = { limitMs: 240_000 };

/** Presses Ctrl-C, and waits until the program has ended without an error. */
async function stop(child: Deno.ChildProcess, outputs: readonly ReadableStreamDefaultReader<unknown>[]) {
  child.kill("SIGINT");
  await Promise.all(outputs.map(async (output) => {
    while (!(await output.read()).done) { /* to its end */ }
  }));
  assertEquals((await child.status).code, 0);
}

/**
 * Types every block that is for the machine. Resolves to a function `of`, which returns the output of the block with a
 * given last line.
 */
async function walk(machine: Machine, own: "npx" | "deno") {
  const [http, push] = freePorts();
  const printed = new Map<string, string>();
  let close = () => Promise.resolve();
  let alerts: { read(isSo: (text: string) => boolean, what: string): Promise<void> } | undefined;
  await machine.goTo(root.replace(/\/$/, ""));
  for (const [index, { language, text }] of blocks.entries()) {
    // Only the ports differ from the page.
    const block = text.replaceAll("11111", http).replaceAll("11112", push);
    if (index < 2 && !block.startsWith(own)) continue; // the block of the other machine
    if (language === "yaml") {
      const [, path = ""] = /^# (\S+)/.exec(block) ?? [];
      await Deno.writeTextFile(`${await machine.folder()}/${path}`, `${block}\n`);
      continue;
    }
    if (block.startsWith("hsgate sim ")) {
      const sim = machine.start(block);
      const out = sim.stdout.pipeThrough(new TextDecoderStream()).getReader();
      await readUntil("the simulator", out, (all) => all.includes("Ctrl+C"), LONG_WAIT);
      const err = sim.stderr.pipeThrough(new TextDecoderStream()).getReader();
      let shown = "";
      close = () => stop(sim, [out, err]);
      alerts = {
        read: async (isSo, what) =>
          void (shown = await readUntil(what, err, isSo, { ...LONG_WAIT, text: shown })),
      };
    } else if (block === "hsgate schedule") {
      const schedule = machine.start(block);
      const log = schedule.stdout.pipeThrough(new TextDecoderStream()).getReader();
      await readUntil("the first run", log, (all) => all.includes('"run-ended"'), LONG_WAIT);
      await alerts?.read((all) => /^Notice: 00700\.HK is at [\d.]+$/m.test(all), "the alert");
      await stop(schedule, [log, schedule.stderr.getReader()]);
    } else {
      const { code, out, err } = await machine.run(block);
      assertEquals(code, 0, `${block}\n${out}\n${err}`);
      printed.set(block.split("\n").at(-1) ?? "", out);
      if (block.includes("notify --test")) {
        await alerts?.read((all) => all.includes("Notice: Test by hsgate:"), "the test of the alert");
      }
    }
  }
  await close();
  return { of: (line: string) => printed.get(line) ?? "" };
}

/**
 * Checks the output of the commands and the files that they wrote. Also runs the command for fees that their output
 * suggests.
 */
async function assertWorks(machine: Machine, { of }: Awaited<ReturnType<typeof walk>>): Promise<void> {
  assertEquals(await machine.folder(), `${machine.home}/trading`);
  assert(/^total +HKD +[\d,.]+/m.test(of("hsgate portfolio")), of("hsgate portfolio"));
  assertStringIncludes(of("hsgate next price-alert"), "price-alert");
  assertStringIncludes(of("hsgate probe --yes"), " 0 different, 0 unreadable, ");
  const reports = [...Deno.readDirSync(`${machine.home}/trading`)].filter(({ name }) =>
    /^hsgate-probe-/.test(name)
  );
  assertEquals(reports.length, 1);
  assert(/^price-alert\/main\/\S+ +ok /m.test(of("hsgate runs")), of("hsgate runs"));
  // What init suggests next works on this machine too.
  const [, fees = ""] = /^ {2}(\S.* task -q fees) /m.exec(of("hsgate portfolio")) ?? [];
  const { code, err } = await machine.run(fees);
  assertEquals([fees === "", code], [false, 0], err);
}

Deno.test("README's first ten minutes work on a machine that has only Node.js and npm", async () => {
  await using machine = await Machine.with(["node", "npm", "npx"]);
  await assertWorks(machine, await walk(machine, "npx"));
});

Deno.test("README's first ten minutes work on a machine that has only Deno", async () => {
  await using machine = await Machine.with(["deno"]);
  await assertWorks(machine, await walk(machine, "deno"));
});
