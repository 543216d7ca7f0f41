import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import config from "../../deno.json" with { type: "json" };
import { envOf, simulate } from "../cli/support.ts";

const flagsOf = (command: string) => command.split(" ").filter((word) => word.startsWith("--"));

Deno.test("deno task call reads an account without permission to write files or to start programs", async () => {
  const { command } = config.tasks.call;
  assertEquals(flagsOf(command).filter((flag) => /write|run|ffi|import|-A|all$/.test(flag)), []);
  await using gateway = await simulate();
  const run = async (words: string[]) => {
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: [...command.split(" deno ")[1]!.split(" "), ...words],
      cwd: new URL("../../", import.meta.url).pathname,
      env: { ...envOf(gateway), NO_COLOR: "1" },
      stdin: "null",
    }).output();
    const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
    return { code, out: text(stdout), err: text(stderr) };
  };
  const { code, out, err } = await run(["account.funds", '{"market":"hk"}', "--json"]);
  assertEquals(code, 0, err);
  assert("available" in JSON.parse(out), out);
  const wrong = await run(["account.fnds"]);
  assertEquals(wrong.code, 2);
  assertStringIncludes(wrong.err, "account.funds");
});

Deno.test("no task has all permissions, and the simulator task can reach only this machine", () => {
  for (const { command } of Object.values(config.tasks)) {
    assertEquals(flagsOf(command).filter((flag) => /^(-A|--allow-all)$/.test(flag)), [], command);
  }
  const net = flagsOf(config.tasks.sim.command).filter((flag) => flag.startsWith("--allow-net"));
  assertEquals(net, ["--allow-net=127.0.0.1,localhost,[::1]"]);
  assert(!config.tasks.sim.command.includes("--allow-run"));
});
