/**
 * Tests that a settings file in the working folder is used only if the user has named or trusted it, or if it contains
 * only harmless settings.
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { settingNames, settingTable } from "../../lib/client/settings.ts";
import { cli, folder, KEY, PASSWORD, simulate, spawned, start, type World } from "./support.ts";

const FILE = "hsgate.yaml";
const UNKNOWN = `Cannot use "${FILE}" of this folder: it is not trusted, and it asks for `;
const CHANGED = "it, or a file of this folder that it names, has changed since it was trusted";
const FUNDS = ["call", "account.funds", '{"market":"hk"}'];
const STRANGERS_KEY = "MDAwMDAwMDAwMDAwMDAwMA==";

const recipe = `name: r
schedule: { every: 1h }
misfire: { grace: 2h }
connect: simulator
steps: [{ id: funds, uses: account.funds, with: { market: hk } }]
`;

/** Another user's server on this machine. */
function listener() {
  const heard: string[] = [];
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    heard.push(`${new URL(request.url).pathname} ${await request.text()}`);
    return Response.json({ ok: false, err: "1012", data: null });
  });
  return {
    url: `http://127.0.0.1:${server.addr.port}`,
    heard,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

/** A working folder with a recipe, a listener, and its own record of trust. */
async function world() {
  const stack = new AsyncDisposableStack();
  const dir = stack.use(await folder());
  const server = stack.use(listener());
  const path = `${dir.path}/r.yaml`;
  await Deno.writeTextFile(path, recipe);
  const own = { HSGATE_TRUST_FILE: `${dir.path}/own/trust.json`, HSGATE_VOLATILE_STORE: "allow" };
  return {
    ...server,
    dir: dir.path,
    recipe: path,
    env: own,
    /** Runs a command line in a folder with these settings. */
    hsgate: (words: readonly string[], settings: string, { env = {}, files = {}, ...more }: World = {}) =>
      cli(words, { env: { ...own, ...env }, files: { [path]: recipe, [FILE]: settings, ...files }, ...more }),
    has: (name: string) => Deno.stat(`${dir.path}/${name}`).then(() => true, () => false),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

type Place = Awaited<ReturnType<typeof world>>;

/** What a hostile settings file tries. */
const attacks: Readonly<
  Record<string, {
    words: (w: Place) => string[];
    settings: (w: Place) => string;
    env?: Record<string, string>;
    /** Returns whether the attack succeeded. */
    gained: (w: Place, told: string) => Promise<boolean> | boolean;
  }>
> = {
  "the trade password, encrypted with the stranger's key and sent to a server on this machine": {
    words: () => ["login"],
    settings: ({ url }) => `gatewayUrl: ${url}\ntradePasswordKey: ${STRANGERS_KEY}\n`,
    env: { HSGATE_TRADE_PASSWORD: PASSWORD },
    gained: ({ heard }) => heard.length > 0,
  },
  "the login of the platform, sent to a server on this machine": {
    words: () => ["doctor"],
    settings: ({ url }) => `transport: direct\nauthUrl: ${url}\n`,
    env: {
      HSGATE_COUNTRY_CODE: "HKG",
      HSGATE_MOBILE: "61234567",
      HSGATE_LOGIN_PASSWORD: "login-word",
      HSGATE_DEVICE_ID: "AA:BB:CC:00:11:22",
      HSGATE_DEVELOPER_PRIVATE_KEY: "x",
      HSGATE_PLATFORM_PUBLIC_KEY: "x",
    },
    gained: ({ heard }) => heard.length > 0,
  },
  "a store at a path of the stranger's choice": {
    words: ({ recipe }) => ["schedule", recipe, "--once"],
    settings: ({ dir }) => `store: ${dir}/elsewhere.db\n`,
    gained: (w) => w.has("elsewhere.db"),
  },
  "a ping": {
    words: ({ recipe, dir }) => ["schedule", recipe, "--once", "--store", `${dir}/own.db`],
    settings: ({ url }) => `pingUrl: ${url}/ping\n`,
    gained: ({ heard }) => heard.length > 0,
  },
  "a file elsewhere, read as calendars": {
    words: ({ recipe }) => ["next", recipe],
    settings: ({ dir }) => `calendars: ${dir}/elsewhere.json\n`,
    gained: (_, told) => told.includes("elsewhere.json:1") || told.includes('elsewhere.json": expected'),
  },
  "plain HTTP to the address of the environment": {
    words: () => ["login"],
    settings: () => "plainHttp: allow\n",
    env: { HSGATE_GATEWAY_URL: "http://192.0.2.1:9", HSGATE_TIMEOUT_MS: "50" },
    gained: (_, told) => !told.includes("it asks for plainHttp: allow"),
  },
  "live trading at your gateway, as if it were a simulator": {
    words: () => ["buy", "100", "00700.HK", "--limit", "550", "--yes"],
    settings: () => "seed: 1\nclock: x\n",
    env: { HSGATE_GATEWAY_URL: "http://127.0.0.1:1" },
    gained: (_, told) => !told.includes("liveTrading: allow"),
  },
};

for (const [what, { words, settings, env = {}, gained }] of Object.entries(attacks)) {
  Deno.test(`a settings file that the user has not named has no effect before it is trusted: ${what}`, async () => {
    await using w = await world();
    await Deno.writeTextFile(`${w.dir}/elsewhere.json`, "s3cr3t");
    const { code, out, err } = await w.hsgate(words(w), settings(w), { env });
    const told = (out + err).replaceAll(/\s+(\| )?/g, " "); // doctor marks further lines with "|"
    assertEquals(await gained(w, told), false, told);
    assertEquals(code, 2, told);
    assertStringIncludes(told, UNKNOWN);
    assert(!told.includes("--help"), "the command line itself is valid");
    assert(!told.includes(PASSWORD) && !told.includes(STRANGERS_KEY), told);
  });
}

Deno.test("every setting except three harmless ones needs trust, and so does each ...File setting, which names a file that contains the value", async () => {
  await using w = await world();
  const env = { HSGATE_GATEWAY_URL: w.url };
  const plain = ["pushIdleMs", "logLevel", "timeoutMs"];
  const values: Record<string, string> = { pushIdleMs: "1000", logLevel: "warn", timeoutMs: "900" };
  for (const name of settingNames) {
    const { err } = await w.hsgate(FUNDS, `${name}: ${values[name] ?? "x"}\n`, { env });
    assertEquals(err.includes(`${UNKNOWN}${name}: `), !plain.includes(name), `${name}: ${err}`);
  }
  const all = plain.map((name) => `${name}: ${values[name]}\n`).join("");
  assert(!(await w.hsgate(FUNDS, all, { env })).err.includes("trusted"));
  assert(w.heard.length > 0, "control: a harmless file is used");
  const inFiles = settingNames.filter((name) => settingTable[name].file).length;
  let seen = 0;
  for (const name of settingNames) {
    const { err } = await w.hsgate(FUNDS, `${name}File: /etc/hostname\n`, { env });
    if (err.includes(`${UNKNOWN}${name}File: /etc/hostname; check`)) seen++;
  }
  assertEquals(seen, inFiles);
});

Deno.test("trust hides only the password of an address, and shows every path as a whole", async () => {
  await using w = await world();
  await Deno.mkdir(`${w.dir}/a@`, { mode: 0o700 });
  const settings = [
    `store: "${w.dir}/a@/evil.db"`,
    'leaseFolder: "/root/.ssh/@x/.."',
    'gatewayUrl: "http://127.0.0.1:11111@evil.example/x"',
    'pushAddress: "127.0.0.1:99@evil.example:1"',
  ];
  const { code, out } = await w.hsgate(["trust", FILE, "--yes"], `${settings.join("\n")}\n`);
  assertEquals(code, 0, out);
  for (
    const shown of [
      `store: ${w.dir}/a@/evil.db (`,
      "leaseFolder: /root/.ssh/@x/.. (",
      "gatewayUrl: http://127.0.0.1:[hidden]@evil.example/x (",
      "pushAddress: 127.0.0.1:[hidden]@evil.example:1 (",
    ]
  ) assertStringIncludes(out, shown);
  // These passwords are not encoded as an address needs it.
  for (const password of ["pa/ss", "pa#ss", "p@ss", "pa?ss:x"]) {
    const text = `store: "postgres://u:${password}@db.example/h?password=secret&x=1"\n`;
    const { out } = await w.hsgate(["trust", FILE, "--yes"], text);
    assertStringIncludes(out, "store: postgres://u:[hidden]@db.example/h?password=[hidden]&x=1 (");
  }
  // The part after an @ in a path looks like a host, but it is not the host of the address.
  const { out: other } = await w.hsgate(
    ["trust", FILE, "--yes"],
    "gatewayUrl: http://evil.example:80/a@good/\n",
  );
  assertStringIncludes(other, "gatewayUrl: http://evil.example:80/a@good/ (");
  // A long list of codes is shown as a whole.
  const codes = Array.from({ length: 250 }, (_, index) => `${String(index).padStart(5, "0")}.HK`).join(", ");
  const list = await w.hsgate(["trust", FILE, "--yes"], `allowedSymbols: ${codes}\n`);
  assertStringIncludes(list.out, codes);
});

Deno.test("a settings file is rejected if a value is too long to be shown as a whole, or if the whole file is too long", async () => {
  await using w = await world();
  const long = await w.hsgate(["trust", FILE, "--yes"], `store: "/${"x".repeat(20_000)}/evil.db"\n`);
  assertEquals(long.code, 2, long.out);
  assertStringIncludes(
    long.err,
    'store (hsgate.yaml): expected at most 20000 characters, got "20009 characters"',
  );
  // Control: the longest value that is allowed.
  const most = `/${"x".repeat(20_000 - "//evil.db".length)}/evil.db`;
  assertEquals(most.length, 20_000);
  assertStringIncludes((await w.hsgate(["trust", FILE, "--yes"], `store: "${most}"\n`)).out, most);
  // The YAML reader would take minutes for these escapes.
  const slow = `logLevel: "${"\\\n".repeat(400_000)}"\n`;
  const { code, err } = await w.hsgate(FUNDS, slow);
  assertEquals(code, 2);
  assertStringIncludes(err, "expected at most 65536 characters");
});

Deno.test("trust shows each setting that needs trust, without secrets, and what it can do; after that, this version of the file is used", async () => {
  await using w = await world();
  const settings =
    `gatewayUrl: ${w.url}\ntradePasswordKey: ${KEY}\npingUrl: https://hc.example/T0KEN\ntimeoutMs: 900\n`;
  const env = { HSGATE_TRADE_PASSWORD: PASSWORD };
  const silent = await w.hsgate(["trust", FILE], settings);
  assertEquals(silent.code, 2);
  assertStringIncludes(silent.err, "--yes");
  const no = await w.hsgate(["trust", FILE], settings, { answer: "n" });
  assertEquals(no.code, 2);
  assertEquals((await w.hsgate(["login"], settings, { env })).code, 2);
  const yes = await w.hsgate(["trust", FILE], settings, { answer: "y" });
  assertEquals(
    [yes.code, yes.out],
    [
      0,
      `settings  hsgate.yaml
  gatewayUrl: ${w.url} (this gateway gets your trade login and every order)
  tradePasswordKey: [hidden] (encrypts your trade password; anyone who has this key can read the password)
  pingUrl: https://hc.example/[hidden] (this address receives pings while a scheduler runs)
`,
    ],
  );
  assertStringIncludes(yes.err, 'Trust "hsgate.yaml" as shown? [y/N] ');
  assertEquals(w.heard, []);
  await w.hsgate(["login"], settings, { env });
  assert(w.heard.length > 0, "control: a trusted file is used");
  const changed = await w.hsgate(["login"], `${settings}# edited\n`, { env });
  assertEquals(changed.code, 2);
  assertStringIncludes(changed.err, CHANGED);
  // Another user has a separate record.
  const other = { HSGATE_TRUST_FILE: `${w.dir}/other/trust.json` };
  assertStringIncludes((await w.hsgate(["login"], settings, { env: { ...env, ...other } })).err, UNKNOWN);
  const named = { env: { ...env, ...other } };
  const before = w.heard.length;
  await w.hsgate(["login", "--config", FILE], settings, named);
  await w.hsgate(["login"], settings, { env: { ...named.env, HSGATE_CONFIG: FILE } });
  assert(w.heard.length > before + 1, "a file that its user names needs no trust");
  assertEquals((await w.hsgate(["trust", FILE, "--remove"], settings)).code, 0);
  assertStringIncludes((await w.hsgate(["login"], settings, { env })).err, UNKNOWN);
});

Deno.test("hsgate uses the version of the settings that it has checked, even if the file is edited meanwhile", async () => {
  await using w = await world();
  await using other = listener();
  const settings = (url: string) => `gatewayUrl: ${url}\ntradePasswordKeyFile: keys/key\n`;
  const trusted = { [FILE]: settings(w.url), "keys/key": KEY };
  assertEquals((await w.hsgate(["trust", FILE, "--yes"], "", { files: trusted })).code, 0);
  let reads = 0;
  const files = {
    get [FILE]() {
      return settings(reads++ === 0 ? w.url : other.url);
    },
    "keys/key": KEY,
  };
  const env = { ...w.env, HSGATE_TRADE_PASSWORD: PASSWORD };
  await cli(["login"], { env, files });
  assertEquals([w.heard.length > 0, other.heard, reads], [true, [], 1]);
});

Deno.test("trust in a key file inside the folder covers its content; a key file elsewhere may change", async () => {
  await using w = await world();
  const elsewhere = `${w.dir}/key`;
  for (
    const [place, isTrusted] of [["keys/key", false], [`${Deno.cwd()}/keys/key`, false], [
      elsewhere,
      true,
    ]] as const
  ) {
    const settings = `gatewayUrl: ${w.url}\ntradePasswordKeyFile: ${place}\n`;
    const login = (key: string) =>
      w.hsgate(["login"], settings, { env: { HSGATE_TRADE_PASSWORD: PASSWORD }, files: { [place]: key } });
    assertEquals((await w.hsgate(["trust", FILE, "--yes"], settings, { files: { [place]: KEY } })).code, 0);
    assert(!(await login(KEY)).err.includes("trusted"), place);
    const heard = w.heard.length;
    const { err } = await login(STRANGERS_KEY);
    assertEquals(
      [err.includes(CHANGED), w.heard.length > heard],
      [!isTrusted, isTrusted],
      `${place}: ${err}`,
    );
  }
});

Deno.test("check continues in a folder with untrusted settings and lists them; doctor fails", async () => {
  await using w = await world();
  const settings = `gatewayUrl: ${w.url}\nstore: ${w.dir}/elsewhere.db\ncalendars: /etc/hostname\n`;
  const checked = await w.hsgate(["check", w.recipe], settings);
  assertEquals(checked.code, 0, checked.err);
  assertStringIncludes(
    checked.out,
    `  store: ${w.dir}/elsewhere.db (creates, reads and changes the store at this path)\n`,
  );
  assertStringIncludes(checked.err, UNKNOWN);
  const json = JSON.parse((await w.hsgate(["check", w.recipe, "--json"], settings)).out);
  assertEquals(
    [json.ok, json.settings.trust, json.settings.powers.map(({ name }: { name: string }) => name)],
    [
      true,
      "unknown",
      ["gatewayUrl", "store", "calendars"],
    ],
  );
  for (const broken of ["a: [", { text: settings, mode: 0o666, distrusted: "others may write to it" }]) {
    const { code, err } = await w.hsgate(["check", w.recipe], "", { files: { [FILE]: broken } });
    assertEquals(code, 0, err);
    assertStringIncludes(err, FILE);
    assertEquals((await w.hsgate(["login"], "", { files: { [FILE]: broken } })).code, 2);
  }
  const { code, out } = await w.hsgate(["doctor", "--json"], settings);
  const { ok, findings } = JSON.parse(out);
  assertEquals([code, ok, findings.length, findings[0].state], [2, false, 1, "failed"]);
  assertStringIncludes(findings[0].advice, 'run "hsgate trust hsgate.yaml"');
  assertEquals([w.heard, await w.has("elsewhere.db")], [[], false]);
});

Deno.test("a link to a file outside the folder is not a settings file, even if that file is trusted", async () => {
  await using own = await folder();
  await using strange = await folder();
  await using server = listener();
  await Deno.writeTextFile(`${own.path}/${FILE}`, `gatewayUrl: ${server.url}\n`, { mode: 0o600 });
  const env = { HSGATE_TRUST_FILE: `${own.path}/own/trust.json` };
  assertEquals((await spawned(["trust", `${own.path}/${FILE}`, "--yes"], { env })).code, 0);
  await spawned(["login"], { env, cwd: own.path });
  await Deno.symlink(`${own.path}/${FILE}`, `${strange.path}/${FILE}`);
  const { code, err } = await spawned(["login"], { env, cwd: strange.path });
  assertEquals([code, err.includes("it is a link to a file outside this folder")], [2, true], err);
  const refused = await spawned(["trust", FILE, "--yes"], { env, cwd: strange.path });
  assertEquals([refused.code, refused.err.includes("it is a link")], [2, true], refused.err);
  const { out } = await spawned(["trust", "--list", "--json"], { env });
  assertEquals(JSON.parse(out).map(({ path, state }: Record<string, string>) => [path, state]), [
    [await Deno.realPath(`${own.path}/${FILE}`), "trusted"],
  ]);
});

Deno.test("a folder that init creates works unchanged, and its settings are trusted as written", async () => {
  await using dir = await folder();
  const cwd = `${dir.path}/work`;
  const env = { HSGATE_TRUST_FILE: `${dir.path}/own/trust.json`, HSGATE_VOLATILE_STORE: "allow" };
  const made = await spawned(["init", cwd], { env });
  assertEquals(made.code, 0, made.err);
  const ways = [["check"], ["run", "end_of_day"], ["schedule", "--once"], ["runs"]];
  for (const words of ways) {
    const { code, out, err } = await spawned(words, { env, cwd });
    assertEquals([code, err.includes("trust")], [0, false], `${words}: ${out}${err}`);
  }
  assert((await Deno.stat(`${cwd}/hsgate.db`)).isFile, "the store is where the settings say");
  await Deno.writeTextFile(`${cwd}/${FILE}`, `store: ${dir.path}/elsewhere.db\n`);
  for (const words of ways.slice(1)) {
    const { code, err } = await spawned(words, { env, cwd });
    assertEquals([code, err.includes(CHANGED)], [2, true], `${words}: ${err}`);
  }
});

Deno.test("a scheduler keeps the settings that it started with, whatever happens to the file", async () => {
  await using gateway = await simulate();
  await using dir = await folder();
  const settings = `${dir.path}/${FILE}`;
  const { gatewayUrl } = gateway.info;
  await Deno.writeTextFile(
    settings,
    `gatewayUrl: ${gatewayUrl}\ntradePassword: "${PASSWORD}"\ntradePasswordKey: ${KEY}\nstore: hsgate.db\n`,
    {
      mode: 0o600,
    },
  );
  const recipe = (text: string) =>
    `name: r # ${text}\nschedule: { every: 1s }\nmisfire: { grace: 30s }\nsteps: [{ id: funds, uses: account.funds, with: { market: hk } }]\n`;
  await Deno.writeTextFile(`${dir.path}/r.yaml`, recipe("first"));
  const env = { HSGATE_TRUST_FILE: `${dir.path}/own/trust.json`, HSGATE_VOLATILE_STORE: "allow" };
  const world = { env, cwd: dir.path };
  assertEquals((await spawned(["trust", FILE, "--yes"], world)).code, 0);
  const process = start(["schedule", "r.yaml", "--json"], world);
  const runs: string[] = [];
  let err = "";
  const reading = Promise.all([
    (async () => {
      for await (const part of process.stdout.pipeThrough(new TextDecoderStream())) {
        for (const [, state] of part.matchAll(/"run-ended".*?"state":"(\w+)"/g)) runs.push(state!);
      }
    })(),
    (async () => {
      for await (const part of process.stderr.pipeThrough(new TextDecoderStream())) err += part;
    })(),
  ]);
  const late = AbortSignal.timeout(60_000);
  const until = async (count: number) => {
    while (runs.length < count) {
      assert(!late.aborted, `only ${runs.length} runs: ${err}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };
  await until(1);
  await Deno.writeTextFile(settings, "gatewayUrl: http://127.0.0.1:1\n");
  await Deno.writeTextFile(`${dir.path}/r.yaml`, recipe("second")); // the scheduler loads its recipes again
  await until(runs.length + 5);
  process.kill("SIGTERM");
  await Promise.all([process.status, reading]);
  assertEquals([new Set(runs), err.includes("trust")], [new Set(["ok"]), false], err);
});

Deno.test("a store that came with the folder is used only after trust; one that the user created or named is used at once", async () => {
  await using w = await world();
  const as = (who: string) => (...words: string[]) =>
    spawned(words, {
      cwd: w.dir,
      env: { HSGATE_TRUST_FILE: `${w.dir}/${who}/trust.json`, HSGATE_VOLATILE_STORE: "allow" },
    });
  const [stranger, owner] = [as("stranger"), as("owner")];
  const made = await stranger("schedule", "r.yaml", "--once");
  assertEquals(made.code, 0, made.err);
  const ran = await stranger("run", "r.yaml", "--manual", "--store", "hsgate.db");
  assertEquals(ran.code, 0, ran.err);
  const again = await stranger("runs", "--json");
  assertEquals([again.code, JSON.parse(again.out).length > 0], [0, true], again.err);
  const why = 'Cannot use the store "hsgate.db" of this folder: you did not create it on this machine';
  const commands = [["runs"], ["schedule", "r.yaml", "--once"], ["why", "r", "2025-08-15"], [
    "next",
    "r.yaml",
  ]];
  for (const words of commands) {
    const { code, out, err } = await owner(...words);
    assertEquals([code, out], [2, ""], `${words}: ${err}`);
    assertStringIncludes(err, why);
    assertStringIncludes(err, 'run "hsgate trust hsgate.db", or name it with --store');
  }
  const named = await owner("runs", "--json", "--store", "hsgate.db");
  assertEquals([named.code, named.out], [0, again.out], named.err);
  const shown = await owner("trust", "hsgate.db", "--yes");
  assertEquals(shown.code, 0, shown.err);
  assert(/has \d+ unfinished runs? \(they may start\)/.test(shown.out), shown.out);
  const trusted = await owner("runs", "--json");
  assertEquals([trusted.code, trusted.out], [0, again.out], trusted.err);
  const removed = await owner("trust", "hsgate.db", "--remove");
  assertStringIncludes(removed.out, `no longer trusted: ${await Deno.realPath(w.dir)}/hsgate.db`);
  assertEquals((await owner("runs")).code, 2);
});

Deno.test("trust covers the named files as they were shown, not as they are when the user answers", async () => {
  await using w = await world();
  const settings = `gatewayUrl: ${w.url}\ntradePasswordKeyFile: keys/key\n`;
  Deno.mkdirSync(`${w.dir}/keys`, { mode: 0o700 });
  const write = (path: string, text: string) => Deno.writeTextFileSync(path, text, { mode: 0o600 });
  const path = `${w.dir}/${FILE}`;
  write(path, settings);
  write(`${w.dir}/keys/key`, KEY);
  const run = (words: string[], more: World = {}) => cli(words, { env: w.env, fromDisk: true, ...more });
  const answer = () => {
    write(`${w.dir}/keys/key`, STRANGERS_KEY);
    return "y";
  };
  assertEquals((await run(["trust", path], { answer })).code, 0);
  const { out } = await run(["trust", "--list", "--json"]);
  assertStringIncludes(out, `"changed"`);
});
