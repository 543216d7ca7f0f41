import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { cli, envOf, folder, simulate, spawned, trustAll } from "./runner_support.ts";

const PASSWORD = "Tr4de-Pa55word";

/** A step that repeats the trade password in its log, its progress, its output and its error. */
const leak = `import { defineStep } from "hsgate/recipes";
export default defineStep({
  effect: "read",
  params: { fail: { type: "boolean", default: false } },
  run({ fail }, { progress, log }) {
    log("info", "log ${PASSWORD}");
    progress({ text: "with ${PASSWORD}" });
    if (fail) throw new Error("refused: ${PASSWORD}");
    return Promise.resolve({ word: "${PASSWORD}", "${PASSWORD}": encodeURIComponent("&${PASSWORD}") });
  },
});
`;

const imports = JSON.stringify({
  imports: { "hsgate/recipes": new URL("../../lib/recipes/mod.ts", import.meta.url).href },
});

const read = "  - { id: leak, uses: ./leak_step.ts }\n";
const fail = "  - { id: leak, uses: ./leak_step.ts, with: { fail: true } }\n";
const write = "  - { id: sweep, uses: cancel-open-orders, with: { markets: [hk] } }\n";
const writer =
  "name: w\nschedule: { calendar: XHKG, at: open+30m }\nwindow: XHKG.open..XHKG.close-10m\nsteps:\n";

Deno.test("run redacts the secrets of the settings in all its output, also without a store and with --dry-run", async () => {
  await using gateway = await simulate({ tradePassword: PASSWORD });
  const env = { ...envOf(gateway), HSGATE_TRADE_PASSWORD: PASSWORD };
  await using dir = await folder({
    "read.yaml": `name: r\nsteps:\n${read}`,
    "fail.yaml": `name: f\nsteps:\n${fail}`,
    "write.yaml": writer + read + write,
    "write_fail.yaml": writer + fail + write,
    "leak_step.ts": leak,
    "deno.json": imports,
  });
  const cases: [words: string[], code: number, hidden: string][] = [
    [["read.yaml"], 0, '"word": "[secret]"'],
    [["read.yaml", "--json"], 0, '"word":"[secret]"'],
    [["read.yaml", "--json", "--events"], 0, '"message":"log [secret]"'],
    [["fail.yaml"], 1, "refused: [secret]"],
    [["fail.yaml", "--json", "--events"], 1, "refused: [secret]"],
    [["write.yaml", "--dry-run"], 0, "word [secret]"],
    [["write.yaml", "--dry-run", "--json"], 0, '"writes":[{'],
    [["write_fail.yaml", "--dry-run"], 1, "refused: [secret]"],
    [["write_fail.yaml", "--dry-run", "--json"], 1, "refused: [secret]"],
  ];
  for (const [[name, ...words], code, hidden] of cases) {
    const what = `${name} ${words.join(" ")}`;
    const path = `${dir.path}/${name}`;
    const files = { [path]: await Deno.readTextFile(path) };
    const outcome = await cli(["run", path, ...words], { env, files });
    const text = outcome.out + outcome.err;
    assertEquals(outcome.code, code, `${what}: ${text}`);
    assertStringIncludes(text, hidden, what);
    assert(!text.includes(PASSWORD), `${what}: ${text}`);
  }
});

Deno.test("run warns once about each secret that is too short to be redacted, by its name", async () => {
  await using gateway = await simulate({ tradePassword: "135" });
  await using dir = await folder({
    "r.yaml": `name: r
schedule: { calendar: XHKG, at: open+30m }
secrets: { pin: { env: PIN }, long: { env: LONG } }
steps:
  - { id: a, uses: ./ask_step.ts, with: { pin: "\${secret:pin}", long: "\${secret:long}" } }
  - { id: b, uses: ./ask_step.ts, with: { pin: "\${secret:pin}", long: "\${secret:long}" } }
`,
    "ask_step.ts": `import { defineStep } from "hsgate/recipes";
export default defineStep({
  effect: "read",
  params: { pin: { type: "text" }, long: { type: "text" } },
  run: () => Promise.resolve({}),
});
`,
    "deno.json": imports,
  });
  const env = { ...envOf(gateway), HSGATE_TRADE_PASSWORD: "135", PIN: "q7x", LONG: "q7x8" };
  const path = `${dir.path}/r.yaml`;
  const files = { [path]: await Deno.readTextFile(path) };
  const why = "is too short to be redacted in logs and files: redaction needs four characters or six digits";
  const ways = [["run", path], ["run", path, "--manual", "--store", `${dir.path}/l.db`]];
  for (const words of ways) {
    const { code, out, err } = await cli(words, { env, files });
    assertEquals(code, 0, err);
    assertEquals(err.match(/too short/g)?.length, 2, err);
    for (const name of ['setting "tradePassword"', 'secret "pin"']) {
      assertStringIncludes(err, `hsgate: warning: the ${name} ${why}\n`);
    }
    assert(!/\b135\b|q7x/.test(out + err), err);
  }
  const often = (await Deno.readTextFile(path)).replace("calendar: XHKG, at: open+30m", "every: 1s");
  await Deno.writeTextFile(path, often);
  await trustAll(path);
  const words = ["schedule", path, "--store", `${dir.path}/s.db`, "--once"];
  await spawned(words, { env });
  await new Promise((resolve) => setTimeout(resolve, 1100));
  const { err } = await spawned(words, { env });
  assertEquals(err.match(/too short/g)?.length, 2, err);
  assert(!/\b135\b|q7x/.test(err), err);
});

Deno.test({
  name: "no secret is in the process list, and no secret of hsgate is in the environment of a step's process",
  ignore: Deno.build.os !== "linux",
  async fn() {
    await using gateway = await simulate({ tradePassword: PASSWORD });
    const heard: string[] = [];
    /** Returns the command line of every process. */
    const processes = () =>
      [...Deno.readDirSync("/proc")].filter(({ name }) => /^\d+$/.test(name)).map(({ name }) => {
        try {
          return Deno.readTextFileSync(`/proc/${name}/cmdline`).replaceAll("\0", " ");
        } catch {
          return ""; // it has ended
        }
      }).join("\n");
    await using server = Deno.serve(
      { port: 0, hostname: "127.0.0.1", onListen: () => {} },
      async (request) => {
        heard.push(`${await request.text()}\n${processes()}`);
        return new Response();
      },
    );
    const url = `http://127.0.0.1:${server.addr.port}/`;
    const secrets = ["word-by-environment", "word-by-file", "word-by-command"];
    const list = "for each in /proc/[0-9]*; do tr '\\0' ' ' <$each/cmdline; echo; done 2>/dev/null";
    await using dir = await folder({ "word": secrets[1]!, "word2": secrets[2]! });
    const write = (name: string, text: string) =>
      Deno.writeTextFile(`${dir.path}/${name}`, text, { mode: 0o600 });
    // The processes are listed while the command of a secret runs, while a step runs, and while a message is sent.
    await write("get.sh", `{ ${list}; } >"$1/listed"\ncat "$1/word2"\n`);
    await write(
      "look_step.ts",
      `import { defineStep } from "hsgate/recipes";
export default defineStep({ effect: "read", permissions: { net: ["127.0.0.1:${server.addr.port}"], run: ["sh"] }, async run() {
  const script = "cat /proc/self/environ /proc/$PPID/environ";
  const { stdout } = await new Deno.Command("sh", { args: ["-c", script] }).output();
  await fetch("${url}", { method: "POST", body: "look " + new TextDecoder().decode(stdout) });
  return {};
} });
`,
    );
    await write(
      "r.yaml",
      `name: r
secrets:
  a: { env: WORD }
  b: { file: ${dir.path}/word }
  c: { command: [sh, ${dir.path}/get.sh, ${dir.path}] }
steps:
  - { id: tell, uses: notify, with: { webhook: "${url}", text: "\${secret:a} \${secret:b} \${secret:c}" } }
  - { id: look, uses: ./look_step.ts }
`,
    );
    await Promise.all(["word", "word2"].map((name) => Deno.chmod(`${dir.path}/${name}`, 0o600)));
    await trustAll(`${dir.path}/r.yaml`);
    const { code, err } = await spawned(["run", `${dir.path}/r.yaml`, "--out", `${dir.path}/out`], {
      env: { ...envOf(gateway), HSGATE_TRADE_PASSWORD: PASSWORD, WORD: secrets[0]! },
    });
    assertEquals([code, heard.length], [0, 2], err);
    const [told = "", looked = ""] = heard;
    const listed = await Deno.readTextFile(`${dir.path}/listed`);
    // The control: the message has the secrets, and the lists have hsgate, its commands and its steps.
    assertStringIncludes(told.split("\n")[0]!, secrets.join(" "));
    for (const text of [told, looked, listed]) assertStringIncludes(text, `hsgate.ts run ${dir.path}/r.yaml`);
    assertStringIncludes(listed, `sh ${dir.path}/get.sh`);
    assertStringIncludes(looked, "HSGATE_STEP=");
    assertStringIncludes(looked, "/main.ts");
    const all = [told.slice(told.indexOf("\n")), looked, listed].join("\n");
    const { HSGATE_TRADE_PASSWORD_KEY = "" } = envOf(gateway);
    for (const secret of [...secrets, PASSWORD, HSGATE_TRADE_PASSWORD_KEY]) {
      assert(!all.includes(secret), secret);
    }
  },
});
