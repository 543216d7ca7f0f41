import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { parseAllDocuments } from "yaml";
import { openSqlite } from "../../lib/store/sqlite.ts";
import type { Store } from "../../lib/store/store.ts";
import { loadRecipe } from "../../lib/recipes/mod.ts";
import { startTicking } from "../../tasks/commands/deploy/tick.ts";
import { processHost } from "../../tasks/terminal/host.ts";
import { cli, folder, simulate } from "./runner_support.ts";
import { KEY, PASSWORD } from "./support.ts";

const beat = `name: beat
schedule: { calendar: XHKG, at: "09:25" }
steps:
  - { id: orders, uses: orders.history, with: { market: hk, from: "2025-08-14", to: "2025-08-14" } }
`;
const trader = `name: trader
schedule: { calendar: XHKG, at: close-15m }
window: XHKG.close-16m..XHKG.close-10m
steps:
  - { id: cancel, uses: cancel-open-orders, with: { markets: [hk] } }
`;

const decoder = new TextDecoder();

/** Runs a program and returns its exit code and its whole output. */
async function started(
  program: string,
  args: string[],
  { cwd, env = {} }: { cwd: string; env?: Record<string, string> },
): Promise<{ code: number; text: string }> {
  const { code, stdout, stderr } = await new Deno.Command(program, { args, cwd, env, stdin: "null" })
    .output();
  return { code, text: decoder.decode(stdout) + decoder.decode(stderr) };
}

/** Returns the command that each system would start, read from its generated files. */
async function starters(dir: string, store: string) {
  const here = ["--dir", dir, "--store", store];
  const recipe = `${dir}/beat.yaml`;
  const out = `${dir}/out`;
  const written = async (words: string[], file: string) => {
    const { code, err } = await cli(["deploy", recipe, ...words, ...here, "--out", out]);
    assertEquals(code, 0, err);
    return await Deno.readTextFile(`${out}/${file}`);
  };
  const lines = (await written(["--to", "crontab"], "hsgate.crontab")).split("\n");
  const cron = lines.find((line) => /^[\d*,/]+ \* \* \* \* /.test(line))!;
  const unit = await written(["--to", "systemd"], "hsgate-beat.service");
  const program = new URL("../../tasks/hsgate.ts", import.meta.url).pathname;
  const manifest = await written(
    ["--to", "kubernetes", "--deno", Deno.execPath(), "--program", program],
    "hsgate.yaml",
  );
  await written(["--to", "deno-cron"], "hsgate_cron.ts");
  const [container] = parseAllDocuments(manifest)[1]!.toJS().spec.jobTemplate.spec.template.spec.containers;
  return {
    // Cron removes five fields, and the backslash before each %.
    crontab: cron.replace(/^(\S+ ){5}/, "").replaceAll("\\%", "%"),
    systemd: /^ExecStart=(.*)$/m.exec(unit)![1]!,
    kubernetes: [...container.command, ...container.args] as string[],
    denoCron: `${out}/hsgate_cron.ts`,
  };
}

/** A folder with a recipe, settings for a gateway, and a program `date` that prints the time of the slot. */
async function place(gateway: { info: { gatewayUrl: string } }) {
  const dir = await folder({
    "beat.yaml": beat,
    "hsgate.yaml":
      `gatewayUrl: ${gateway.info.gatewayUrl}\ntradePassword: "${PASSWORD}"\ntradePasswordKey: ${KEY}\n`,
    "date": '#!/bin/sh\ntest "$TZ" = Asia/Hong_Kong && echo 5-0925\n',
    // Calls the cron's handler at once instead of at the next minute.
    "drive.ts": `Object.defineProperty(Deno, "cron", { value: async (_name, _times, handler) => {
  await handler();
  Deno.exit(0);
} });
await import(Deno.args[0]);
`,
  });
  await Deno.chmod(`${dir.path}/hsgate.yaml`, 0o600);
  await Deno.chmod(`${dir.path}/date`, 0o755);
  return dir;
}

/** Inserts a schedule row with a watermark six days ago, so that the next start finds the latest slot due. */
async function seen(store: Store, file: string): Promise<void> {
  const { schedules: [schedule] } = await loadRecipe(file, { now: Date.now });
  await store.run(
    "insert into schedule (recipe, schedule_id, spec, watermark, updated_at) values ('beat', 'main', ?, ?, 0)",
    JSON.stringify(schedule),
    Date.now() - 6 * 86_400_000,
  );
}

/** Returns the state and the attempts of the latest slot. */
async function latestOf(file: string): Promise<[string, number] | undefined> {
  await using store = await openSqlite(file);
  const row = await store.get<{ state: string; attempt: number }>(
    "select state, attempt from run order by slot_at desc limit 1",
  );
  return row && [row.state, row.attempt];
}

/** Deletes the store. */
async function forget(file: string): Promise<void> {
  for (const end of ["", "-wal", "-shm", ".mark"]) await Deno.remove(`${file}${end}`).catch(() => {});
}

Deno.test("a slot that crontab, systemd, Kubernetes, Deno.cron and the scheduler start at the same time runs only once", async () => {
  await using gateway = await simulate({ fillsPerDay: 3 });
  await using dir = await place(gateway);
  const file = `${dir.path}/store.db`;
  const { crontab, systemd, kubernetes, denoCron } = await starters(dir.path, file);
  {
    await using store = await openSqlite(file);
    await seen(store, `${dir.path}/beat.yaml`);
  }
  const cwd = dir.path;
  const program = new URL("../../tasks/hsgate.ts", import.meta.url).pathname;
  const path = `${dir.path}:${Deno.env.get("PATH")}`;
  const config = new URL("../../deno.json", import.meta.url).pathname;
  const cronFlags = ["run", "-A", "--no-check", "--unstable-cron", "--config", config];
  const ways = {
    crontab: () => started("/bin/sh", ["-c", crontab], { cwd: "/", env: { PATH: path } }),
    systemd: () => started("/bin/sh", ["-c", systemd], { cwd }),
    kubernetes: () => started(kubernetes[0]!, kubernetes.slice(1), { cwd }),
    denoCron: () => started(Deno.execPath(), [...cronFlags, `${cwd}/drive.ts`, denoCron], { cwd }),
    scheduler: () =>
      started(
        Deno.execPath(),
        [
          ...["run", "-A", program, "schedule", "beat.yaml", "--store", file, "--once"],
          ...["--config", "hsgate.yaml"],
        ],
        { cwd },
      ),
  };
  // Each of the systems can run the slot without the others.
  for (const [name, start] of Object.entries(ways)) {
    const { code, text } = await start();
    assertEquals([code, await latestOf(file)], [0, ["ok", 1]], `${name}: ${text}`);
    await forget(file);
    await using store = await openSqlite(file);
    await seen(store, `${cwd}/beat.yaml`);
  }
  // All systems together run the slot only once.
  const startAll = () => Promise.all(Object.values(ways).map((start) => start()));
  const first = await startAll();
  assertEquals(first.map(({ code }) => code), [0, 0, 0, 0, 0], first.map(({ text }) => text).join("\n"));
  // If there is no new slot, the crontab line prints nothing.
  const again = await startAll();
  assertEquals(again.map(({ code }) => code), [0, 0, 0, 0, 0], again.map(({ text }) => text).join("\n"));
  assertEquals(again[0]!.text, "", "cron would send a mail");
  assertEquals(await latestOf(file), ["ok", 1]);
  await using store = await openSqlite(file);
  const claims = await store.all<{ run_key: string; n: number }>(
    "select run_key, count(*) as n from event where kind = 'claimed' group by run_key",
  );
  assert(claims.length > 0 && claims.every(({ n }) => n === 1), JSON.stringify(claims));
});

Deno.test("a failed run is reported once: by the start that ran it, not by later starts", async () => {
  await using gateway = await simulate({ fillsPerDay: 3 });
  await using dir = await place(gateway);
  const { crontab } = await starters(dir.path, `${dir.path}/store.db`);
  await Deno.writeTextFile(`${dir.path}/beat.yaml`, beat.replace("market: hk", "market: nowhere"));
  const env = { PATH: `${dir.path}:${Deno.env.get("PATH")}` };
  const wrong = await started("/bin/sh", ["-c", crontab], { cwd: "/", env });
  assertEquals(wrong.text, `hsgate: beat ended with 2, see ${dir.path}/hsgate.log\n`);
  await Deno.writeTextFile(`${dir.path}/beat.yaml`, beat);
  await Deno.writeTextFile(`${dir.path}/hsgate.yaml`, "gatewayUrl: http://127.0.0.1:1\n");
  const failed = await started("/bin/sh", ["-c", crontab], { cwd: "/", env });
  assertEquals(failed.text, `hsgate: beat ended with 1, see ${dir.path}/hsgate.log\n`);
  const later = await started("/bin/sh", ["-c", crontab], { cwd: "/", env });
  assertEquals([later.code, later.text], [0, ""]);
});

Deno.test("a tick of Deno.cron runs a slot once, and does nothing on another timeline", async () => {
  await using gateway = await simulate({ fillsPerDay: 3 });
  await using dir = await place(gateway);
  const file = `${dir.path}/store.db`;
  {
    await using store = await openSqlite(file);
    await seen(store, `${dir.path}/beat.yaml`);
  }
  const said: string[] = [];
  const host = { ...quiet(), note: (line: string) => void said.push(line) };
  const config = `${dir.path}/hsgate.yaml`;
  const options = { recipes: [`${dir.path}/beat.yaml`], store: file, dir: dir.path, config, host };
  const attempts = async () => {
    await using store = await openSqlite(file);
    return (await store.all<{ attempt: number }>("select attempt from run where state = 'ok'")).map((
      { attempt },
    ) => attempt);
  };
  const other = startTicking({ ...options, timeline: "production" });
  assertEquals([await other.tick(), await attempts()], [{ open: 0 }, []]);
  assertStringIncludes(said[0]!, 'HSGATE_TIMELINE is not "production"');
  const ticking = startTicking(options);
  const ends = await Promise.all([ticking.tick(), ticking.tick()]);
  assertEquals(ends.map(({ code }) => code), [0, 0], said.join("\n"));
  const ran = await attempts();
  assert(ran.length >= 1 && ran.every((attempt) => attempt === 1), JSON.stringify(ran));
  assertEquals([(await ticking.tick()).code, await attempts()], [0, ran]);
});

/** Returns this process as a host, without its environment variables, output, signals and terminal. */
function quiet() {
  const { readFile, size, readStdin, ask } = processHost();
  return {
    env: () => undefined,
    out: () => {},
    note: () => {},
    draw: () => {},
    isTerminal: false,
    canAsk: false,
    color: false,
    size,
    ask,
    readStdin,
    readFile,
    signal: new AbortController().signal,
    now: Date.now,
  };
}

Deno.test("a tick ends within its time limit, while its run continues", async () => {
  await using gateway = await simulate({ fillsPerDay: 3 });
  await using dir = await place(gateway);
  const file = `${dir.path}/store.db`;
  {
    await using store = await openSqlite(file);
    await seen(store, `${dir.path}/beat.yaml`);
  }
  const recipes = [`${dir.path}/beat.yaml`];
  const config = `${dir.path}/hsgate.yaml`;
  const ticking = startTicking({
    ...{ recipes, store: file, dir: dir.path, config },
    ...{ host: quiet(), waitMs: 0 },
  });
  assertEquals(await ticking.tick(), { open: 1 });
  await ticking.settled();
  assertEquals(await latestOf(file), ["ok", 1]);
});

Deno.test("deploy --to deno-cron writes a program that type-checks", async () => {
  await using dir = await folder({ "beat.yaml": beat });
  const words = ["deploy", `${dir.path}/beat.yaml`, "--to", "deno-cron", "--out", dir.path];
  assertEquals((await cli(words)).code, 0);
  const config = new URL("../../deno.json", import.meta.url).pathname;
  const file = `${dir.path}/hsgate_cron.ts`;
  const { code, text } = await started(Deno.execPath(), ["check", "--config", config, file], {
    cwd: dir.path,
  });
  assertEquals(code, 0, text);
});

Deno.test("deploy prints a crontab for a pipe, or writes files and prints the remaining steps", async () => {
  await using dir = await folder({
    "beat.yaml": beat,
    "byhand.yaml": beat.replace(/name.*\nschedule.*/, "name: byhand"),
  });
  const piped = await cli(["deploy", dir.path, "--to", "crontab", "--store", "/srv/hsgate.db"]);
  assertEquals([piped.code, piped.err], [0, 'hsgate: "byhand" has no schedule, so it is left out\n']);
  assertStringIncludes(piped.out, "[1-5]-0925) umask 077; cd ");
  const words = [
    "deploy",
    `${dir.path}/beat.yaml`,
    "--to",
    "systemd",
    "--user",
    "--out",
    `${dir.path}/units`,
  ];
  const { code, out } = await cli([...words, "--store", "/srv/hsgate.db"]);
  assertEquals(code, 0);
  assertStringIncludes(
    out,
    "beat\n  Mon..Fri *-*-* 09:25:00 Asia/Hong_Kong\n  the recipe itself checks: holidays, ",
  );
  assertStringIncludes(out, `wrote ${dir.path}/units/hsgate-beat.timer\n`);
  assertStringIncludes(out, "  systemctl --user enable --now hsgate-beat.timer\n");
  const again = await cli(words);
  assertEquals([again.code, again.out], [2, ""]);
  assertStringIncludes(
    again.err,
    '"hsgate-beat.service", "hsgate-beat.timer", "hsgate-schedule.service" exist already',
  );
  const json = JSON.parse((await cli([...words, "--force", "--json"])).out);
  assertEquals([json.to, json.files.length, json.recipes[0].recipe], ["systemd", 3, "beat"]);
});

Deno.test("deploy rejects a recipe that trades if its store is not durable, or if every timeline would run the recipe", async () => {
  await using dir = await folder({ "trader.yaml": trader });
  const words = ["deploy", `${dir.path}/trader.yaml`];
  for (const store of ["/tmp/hsgate.db", ":memory:", "/dev/shm/x/hsgate.db"]) {
    const { code, out, err } = await cli([...words, "--to", "crontab", "--store", store]);
    assertEquals([code, out], [2, ""], store);
    assertStringIncludes(err, `Cannot deploy "trader", which trades, with the store "${store}": it `);
  }
  const lasting = await cli([...words, "--to", "crontab", "--store", "/srv/hsgate.db"]);
  assertEquals([lasting.code, lasting.err, lasting.out.includes("@reboot")], [0, "", false]);
  const cron = [...words, "--to", "deno-cron", "--out", `${dir.path}/out`, "--store", "/srv/hsgate.db"];
  const refused = await cli(cron);
  assertEquals(refused.code, 2);
  assertStringIncludes(refused.err, "name the timeline that may trade, such as --timeline production");
  assertEquals((await cli([...cron, "--timeline", "production"])).code, 0);
});

Deno.test("deploy with a database shows its URL, but never its password", async () => {
  await using dir = await folder({ "beat.yaml": beat });
  const url = "postgres://hsgate:p@ss:w0rd@db.example.com/hsgate?sslrootcert=/etc/ca.pem";
  const shown = "postgres://hsgate@db.example.com/hsgate?sslrootcert=/etc/ca.pem";
  for (const to of ["crontab", "systemd", "kubernetes", "deno-cron"]) {
    for (const named of ["flag", "setting"]) {
      const out = `${dir.path}/${to}-${named}`;
      const words = ["deploy", `${dir.path}/beat.yaml`, "--to", to, "--dir", dir.path, "--out", out];
      const world = named === "setting" && to !== "kubernetes" ? { env: { HSGATE_STORE: url } } : {};
      // No flag accepts an address with a password.
      const more = "env" in world ? [] : ["--store", shown];
      const { code, out: text, err } = await cli([...words, ...more], world);
      assertEquals([code, err], [0, ""], to);
      const files = [...Deno.readDirSync(out)].map(({ name }) => Deno.readTextFileSync(`${out}/${name}`));
      const all = [text, ...files].join("\n");
      assert(!all.includes("w0rd") && !all.includes("p@ss"), all);
      assertStringIncludes(all, shown);
    }
  }
  const wrong = await cli([
    "deploy",
    `${dir.path}/beat.yaml`,
    "--to",
    "crontab",
    "--store",
    "postgres://h:1/d?x=w0rd",
  ]);
  assertEquals(wrong.code, 2);
  assertStringIncludes(wrong.err, "Cannot read the URL of the store");
});

Deno.test("deploy rejects an untrusted settings file in another folder, and shows what hsgate.env sets", async () => {
  await using own = await folder({});
  await using dir = await folder({
    "hsgate.yaml": "gatewayUrl: https://stranger.example\n",
    "hsgate.env": "HSGATE_TRUST_FILE=/stranger\nexport CHAT=PRECIOUS\n",
    "beat.yaml": `${beat}secrets: { chat: { env: CHAT } }\nping: "\${secret:chat}"\n`,
  });
  const world = { fromDisk: true, env: { HSGATE_TRUST_FILE: `${own.path}/trust.json` } };
  const words = ["deploy", `${dir.path}/beat.yaml`, "--dir", dir.path, "--store", "/srv/hsgate.db"];
  for (const to of ["crontab", "systemd", "deno-cron"]) {
    const { code, err } = await cli([...words, "--to", to, "--out", `${own.path}/${to}`], world);
    assertEquals(code, 2, `${to}: ${err}`);
    assertStringIncludes(err, "it is not trusted, and it asks for gatewayUrl: https://stranger.example");
  }
  assertEquals((await cli(["trust", `${dir.path}/hsgate.yaml`, "--yes"], world)).code, 0);
  const { code, out, err } = await cli([...words, "--to", "crontab"], world);
  assertEquals(code, 0, err);
  assertStringIncludes(out, `--config ${dir.path}/hsgate.yaml`);
  const variables = `every start reads "${dir.path}/hsgate.env", which sets HSGATE_TRUST_FILE, CHAT: `;
  assertStringIncludes(err, variables);
  assert(!(out + err).includes("PRECIOUS"));
  const noteOf = async (text: string) => {
    await Deno.writeTextFile(`${dir.path}/hsgate.env`, text);
    return (await cli([...words, "--to", "crontab"], world)).err;
  };
  assertStringIncludes(await noteOf("# later\n7up\n"), "which sets something that hsgate cannot read: ");
  assert(!(await noteOf("# HSGATE_X=1\n\n")).includes("which sets"));
  // The generated lines would name the store of the folder, and a named store needs no trust. So deploy itself checks
  // whether this store is trusted.
  await (await openSqlite(`${dir.path}/hsgate.db`))[Symbol.asyncDispose]();
  const found = await cli([...words.slice(0, -2), "--to", "crontab"], {
    ...world,
    env: { ...world.env, HSGATE_VOLATILE_STORE: "allow" },
  });
  assertStringIncludes(found.err, "every start would use a store that is not trusted: Cannot use the store");
  // The lines append to a log in the folder of the store.
  await Deno.symlink(`${own.path}/profile`, `${dir.path}/hsgate.log`);
  const linked = await cli([...words.slice(0, -2), "--store", `${dir.path}/s.db`, "--to", "crontab"], world);
  assertEquals(linked.code, 2);
  assertStringIncludes(linked.err, `"${dir.path}/hsgate.log" is a link`);
});

Deno.test("deploy reports mistakes in its arguments and in recipes", async () => {
  await using dir = await folder({ "beat.yaml": beat, "wrong.yaml": beat.replace("history", "histroy") });
  const cases: [words: string[], reason: string][] = [
    [["deploy", dir.path], "name the system with --to"],
    [["deploy", dir.path, "--to", "cron"], 'Cannot deploy to "cron": choose one of "crontab", '],
    [["deploy", `${dir.path}/beat.yaml`, "--to", "systemd"], "name their folder with --out DIR"],
    [
      [
        "deploy",
        `${dir.path}/beat.yaml`,
        "--to",
        "kubernetes",
        "--dir",
        dir.path,
        "--out",
        dir.path,
        "--as",
        "pods",
      ],
      '"jobs" or "scheduler"',
    ],
    [["deploy", dir.path, "--to", "crontab"], "wrong.yaml:4:"],
    [
      ["deploy", `${dir.path}/beat.yaml`, "--to", "kubernetes", "--out", dir.path],
      'outside the folder that becomes "/app"',
    ],
  ];
  for (const [words, reason] of cases) {
    const { code, out, err } = await cli(words);
    assertEquals([code, out], [2, ""], words.join(" "));
    assertStringIncludes(err, reason);
  }
});

Deno.test("deploy and check ignore the recipe schema that init writes into a folder, whatever its size", async () => {
  await using dir = await folder({
    "beat.yaml": beat,
    "recipe.schema.json": `{"x":"${"x".repeat(300_000)}"}`,
  });
  const { code, out, err } = await cli(["deploy", dir.path, "--to", "crontab", "--dir", dir.path]);
  assertEquals(code, 0, err);
  assertStringIncludes(out, "beat");
  assertEquals((await cli(["check", dir.path])).err, "hsgate: 1 recipe, no mistakes\n");
});
