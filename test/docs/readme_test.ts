/** Runs the scripts of the README and of two pages unchanged against the simulator, with the permissions that they state. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { ShiftedClock } from "../../lib/time.ts";
import { startSimulator } from "../../lib/simulator/mod.ts";

const root = new URL("../../", import.meta.url);
const pages = ["README.md", "docs/direct.md", "docs/day_book.md"].map((path) =>
  Deno.readTextFileSync(new URL(path, root))
);
const [readme = ""] = pages;

/** Returns the scripts that start with the command to run them. */
const scripts = [...pages.join("\n").matchAll(/```ts ignore\n(\/\/ deno run (.*) (\w+)\.ts\n[^]*?)```/g)].map(
  ([, text = "", flags = "", name = ""]) => ({ text, flags: flags.split(" "), name }),
);

const expected: Record<string, RegExp[]> = {
  funds: [/^assets \d+\.\d\d HKD, available \d+\.\d\d HKD$/m, /00\d{3}\.HK/],
  fees: [/^2025-08-1\d (buy|sell) \d+ AAPL at \d+/m, /^fees \d+\.\d\d USD$/m],
  order: [/^order \d+ is placed$/m, /^00700\.HK filled 100 \d+/m],
  direct: [/^assets \d+\.\d\d HKD over direct$/m],
  book: [/^2025-08-11 provisional\n(2025-08-1\d provisional\n){4}$/],
};

Deno.test("the README and two pages contain the scripts that these tests run", () => {
  assertEquals(scripts.map(({ name }) => name), Object.keys(expected));
});

for (const { name, text, flags } of scripts) {
  Deno.test(`documented script ${name}.ts runs with the permissions that it states`, async () => {
    await using simulator = await startSimulator({
      seed: 1,
      clock: new ShiftedClock(Date.parse("2025-08-15T10:00:00+08:00")),
      days: 30,
      gateway: { pushIntervalMs: 200 },
    });
    const { gatewayUrl, pushAddress, tradePassword, tradePasswordKey, ...platform } = simulator.info;
    const { host, port } = new URL(gatewayUrl);
    const folder = await Deno.makeTempDir({ prefix: "hsgate-readme-" });
    const file = `${folder}/${name}.ts`;
    // Only the ports differ from the page.
    const onPage = (part: string) =>
      part.replaceAll("127.0.0.1:11111", host).replaceAll("127.0.0.1:11112", pushAddress);
    const withPush = onPage(text).replaceAll(
      `gateway: "http://${host}"`,
      `gateway: { url: "http://${host}", push: "${pushAddress}" }`,
    );
    await Deno.writeTextFile(file, withPush);
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: [
        "run",
        "--no-prompt",
        "--config",
        new URL("deno.json", root).pathname,
        ...flags.map(onPage),
        file,
      ],
      cwd: folder,
      env: {
        HSGATE_TRADE_PASSWORD: tradePassword,
        HSGATE_TRADE_PASSWORD_KEY: tradePasswordKey,
        HSGATE_AUTH_URL: platform.authUrl,
        HSGATE_MOBILE: platform.mobile,
        HSGATE_LOGIN_PASSWORD: platform.loginPassword,
        HSGATE_DEVELOPER_PRIVATE_KEY: platform.developerPrivateKey,
        HSGATE_PLATFORM_PUBLIC_KEY: platform.platformPublicKey,
        NO_COLOR: "1",
      },
    }).output();
    await Deno.remove(folder, { recursive: true });
    const output = new TextDecoder().decode(stdout);
    const errors = new TextDecoder().decode(stderr);
    assertEquals([code, errors], [0, ""], `port ${port}: ${output}`);
    for (const pattern of expected[name] ?? []) assert(pattern.test(output), `${pattern} in\n${output}`);
    assert(!output.includes(tradePassword));
  });
}

Deno.test('README\'s two export lines read the file of --info, and its command "call" then logs in', async () => {
  await using simulator = await startSimulator({
    seed: 1,
    clock: new ShiftedClock(Date.parse("2025-08-15T10:00:00+08:00")),
    days: 5,
  });
  const lines = readme.split("\n");
  const exports = lines.filter((line) => /^export HSGATE_.*sim\.json/.test(line));
  assertEquals(exports.length, 2);
  const [, command = ""] = /^\| `(call [^`]*)`/m.exec(readme) ?? [];
  const folder = await Deno.makeTempDir({ prefix: "hsgate-readme-" });
  await Deno.writeTextFile(`${folder}/sim.json`, JSON.stringify(simulator.info));
  const { code, stdout, stderr } = await new Deno.Command("/bin/sh", {
    args: ["-c", [...exports, `"$DENO" run --no-prompt -A "$HSGATE" ${command} --json`].join("\n")],
    cwd: folder,
    env: {
      DENO: Deno.execPath(),
      HSGATE: new URL("tasks/hsgate.ts", root).pathname,
      HSGATE_GATEWAY_URL: simulator.info.gatewayUrl,
      NO_COLOR: "1",
    },
  }).output();
  await Deno.remove(folder, { recursive: true });
  assertEquals([code, new TextDecoder().decode(stderr)], [0, ""]);
  assertEquals(JSON.parse(new TextDecoder().decode(stdout)), []);
});

Deno.test("README begins with exactly these two commands", () => {
  assertStringIncludes(readme, "npx -y deno@2.9.6 task demo");
  assertStringIncludes(readme, "npx -y deno@2.9.6 task test");
});
