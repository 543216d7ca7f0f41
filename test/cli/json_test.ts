import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { exitCodes } from "../../tasks/terminal/exit_codes.ts";
import { flagsOf } from "../../tasks/terminal/command.ts";
import { commands } from "../../tasks/commands/table.ts";
import { cli, envOf, folder, simulate, spawned, storeEnv } from "./support.ts";

/** Checks that an output is one JSON document with an error, and returns the error. */
function errorIn(out: string, code: number, name: string) {
  assert(out !== "", `${name} prints something`);
  assertEquals(out.trimEnd().split("\n").length, 1, `${name}: ${out}`);
  const { error, ...rest } = JSON.parse(out);
  assertEquals(rest, {}, name);
  assertEquals([typeof error.class, typeof error.text, error.exitCode], ["string", "string", code], name);
  assert(error.text.length > 0, name);
  assert(error.code === null || typeof error.code === "string", name);
  assert(error.advice === null || typeof error.advice === "string", name);
  assert(code in exitCodes, name);
  return error;
}

for (const command of commands) {
  Deno.test(`hsgate ${command.name} --json prints a mistake on the command line as one object`, async () => {
    assert("json" in flagsOf(command), `${command.name} has --json`);
    const { code, out, err } = await cli([...command.name.split(" "), "--json", "--no-such-flag"]);
    assertEquals(code, 2);
    const error = errorIn(out, 2, command.name);
    assertEquals(error.class, command.passOn ? "CommandError" : "UsageError");
    assertStringIncludes(error.text, "no-such-flag");
    assert(error.advice !== null || command.passOn, command.name);
    assertStringIncludes(err, error.text.split("\n")[0]);
  });
}

Deno.test("hsgate prints an error of an unknown command as an object too", async () => {
  const { code, out } = await cli(["dotcor", "--json"]);
  assertStringIncludes(errorIn(out, code, "dotcor").text, 'did you mean "doctor"?');
});

/**
 * Arguments with which each command fails in an empty folder without a broker; `null` for a command that does not fail.
 */
const failing: Readonly<Record<string, readonly string[] | null>> = {
  "init": ["/dev/null/x"],
  "run": ["nothing"],
  "check": ["nothing"],
  "trust": ["nothing", "--yes"],
  "swarm": ["--seeds", "x"],
  "test": ["nothing"],
  "schedule": ["nothing"],
  "next": ["nothing"],
  "runs show": ["nothing"],
  "runs": [],
  "why": ["nothing", "2025-08-15"],
  "notices": [],
  "notify": ["--test", "nothing"],
  "pause": ["nothing"],
  "resume": ["nothing"],
  "rerun": ["nothing"],
  "backfill": ["nothing", "--from", "2025-08-15", "--to", "2025-08-15"],
  "approve": ["nothing"],
  "refuse": ["nothing"],
  "resolve": ["nothing", "failed"],
  "deploy": ["nothing", "--to", "crontab"],
  "store backup": ["copy.db"],
  "store verify": ["--store", "none.db"],
  "store prune": [],
  "store copy": ["a.db", "b.db"],
  "store accept": ["--because", "x"],
  "export day-book": [],
  "call": ["account.funds", '{"market":"hk"}'],
  "portfolio": [],
  "bars": ["00700.HK"],
  "quote": ["00700.HK"],
  "watch": ["00700.HK"],
  "buy": ["100", "00700.HK", "--limit", "590", "--yes"],
  "sell": ["100", "00700.HK", "--limit", "590", "--yes"],
  "amend": ["123", "--limit", "5", "--yes"],
  "cancel": ["123", "--yes"],
  "cancel-all": ["--market", "hk", "--yes-all"],
  "orders show": ["nothing"],
  "orders resolve": ["nothing", "sent"],
  "orders": ["--limit", "x"],
  "fills": [],
  "halt": null,
  "rebalance": ["nothing.yaml", "--plan"],
  "rebalance run": ["nothing"],
  "rebalance show": ["nothing"],
  "probe": ["--replay", "nothing.json"],
  "login": [],
  "sim": ["--seed", "x"],
  "demo": ["--out", "/dev/null/x"],
  "doctor": ["--config-xml", "no.xml"],
  "lease": ["--columns", "x"],
  "keys new": ["/dev/null/x"],
  "keys check": ["nothing"],
  "inspect": ["nothing"],
  "operations": ["nothing"],
  "calendar": ["nothing"],
  "calendar set": ["nothing", "2025-08-15", "closed", "--because", "x"],
  "calendar unset": ["nothing", "2025-08-15"],
  "calendar update": ["nothing"],
  "completion": ["tcsh"],
  "schema": ["--out", "/dev/null/x"],
};

Deno.test("every command with --json prints its failure as one object with the right exit code", async () => {
  assertEquals(Object.keys(failing).toSorted(), commands.map(({ name }) => name).toSorted());
  await using dir = await folder();
  using closed = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = closed.addr;
  closed.close();
  const env = {
    ...storeEnv(dir),
    HSGATE_GATEWAY_URL: `http://127.0.0.1:${port}`,
    HSGATE_PUSH_ADDRESS: `127.0.0.1:${port}`,
    HSGATE_LEASE_FOLDER: `${dir.path}/leases`,
  };
  const names = Object.keys(failing);
  const wrong: string[] = [];
  const one = async () => {
    for (let name = names.shift(); name !== undefined; name = names.shift()) {
      const words = failing[name];
      if (words === null || words === undefined) continue;
      const { code, out } = await spawned([...name.split(" "), ...words, "--json"], { env, cwd: dir.path });
      try {
        assert(code !== 0, `${name} fails`);
        errorIn(out, code, name);
      } catch (error) {
        wrong.push(`${name}: ${error}`);
      }
    }
  };
  await Promise.all([one(), one()]);
  assertEquals(wrong, []);
});

Deno.test("an error as JSON has the broker's code and text, the operation, and no secret", async () => {
  await using gateway = await simulate();
  const env = { ...envOf(gateway), HSGATE_TRADE_PASSWORD: "135791" };
  const { code, out, err } = await cli(["call", "account.funds", '{"market":"hk"}', "--output", "json"], {
    env,
  });
  const error = errorIn(out, code, "call");
  assertEquals([error.class, error.operation, code], ["LoginRefusedError", "account.login", 6]);
  assert(!out.includes("135791") && !err.includes("135791"));
  assertStringIncludes(error.advice, "hsgate doctor");
});

Deno.test("an error of the broker names the command that lists the operation's parameters", async () => {
  await using gateway = await simulate();
  const { code, out } = await cli(["quote", "NOPE", "--json"], { env: envOf(gateway) });
  const error = errorIn(out, code, "quote");
  assertEquals([error.class, error.code, code], ["RejectedError", "1016", 3]);
  assertStringIncludes(error.advice, '"hsgate operations quotes.latest" lists its parameters');
});
