// deno-lint-ignore-file no-console -- the log lines of a process that traces go to the console
/** Tests that an address with a password, in the wrong place of a command line, appears in no output. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { withoutCredentials } from "../../lib/credentials.ts";
import { commands } from "../../tasks/commands/table.ts";
import { logTarget } from "../../tasks/commands/shared/observers.ts";
import type { Host } from "../../tasks/terminal/host.ts";
import { shownHost } from "../../tasks/terminal/shown_host.ts";
import { cli, envOf, folder, simulate, spawned } from "./support.ts";

Deno.test("no command shows a password of an address, wherever it is on the command line or in the environment", async () => {
  await using dir = await folder();
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      ...[
        "run",
        "--allow-all",
        "--no-check",
        "--config",
        new URL("../../deno.json", import.meta.url).pathname,
      ],
      new URL("secret_words_child.ts", import.meta.url).pathname,
    ],
    cwd: dir.path,
    env: { HOME: dir.path, DENO_DIR: Deno.env.get("DENO_DIR") ?? `${Deno.env.get("HOME")}/.cache/deno` },
  }).output();
  const [shown, told] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
  assertEquals([code, shown], [0, ""], told);
  // The process ran many command lines of each command, each with an address.
  const [, count] = /^(\d+) command lines$/m.exec(told!) ?? [];
  assertEquals(Number(count) > commands.length * 40, true, told);
});

Deno.test("hsgate as a process prints no password of an address in its arguments", async () => {
  for (const words of [["trust"], ["keys", "check"], ["sim"], ["call", "account.funds", "--gateway"]]) {
    const { out, err } = await spawned([...words, "postgres://user:hunter2@127.0.0.1:1/db"]);
    assertEquals(/hunter2/.test(out + err), false, out + err);
  }
});

Deno.test("hsgate does not look for df, which names the file system of a store, in the folders of PATH", async () => {
  await using gateway = await simulate();
  await using dir = await folder();
  const heard = `${dir.path}/heard`;
  await Deno.writeTextFile(`${dir.path}/df`, `#!/bin/sh\nenv >"${heard}"\n`, { mode: 0o700 });
  const { code, err } = await spawned(["buy", "100", "00700.HK", "--limit", "550", "--yes"], {
    env: { ...envOf(gateway), PATH: `${dir.path}:${Deno.env.get("PATH")}`, HSGATE_LIVE_TRADING: "allow" },
    cwd: dir.path,
  });
  assertEquals(code, 0, err);
  assertEquals([...Deno.readDirSync(dir.path)].some(({ name }) => name === "heard"), false);
});

Deno.test("a password in --store is rejected before anything connects; in HSGATE_STORE it is allowed", async () => {
  const given = [
    "postgres://me:hunter2hunter2@127.0.0.1:1/db",
    "postgresql://me:a hunter2@127.0.0.1:1/db",
    "POSTGRES://me:hun/hunter2@127.0.0.1:1/db",
    "postgres://:hunter2@127.0.0.1:1/db",
    "postgres://me@127.0.0.1:1/db?password=hunter2",
    "host=127.0.0.1 password='hunter2'",
    "postgres:me:hunter2@127.0.0.1:1/db",
    "postgres://me:hunter2127.0.0.1/db",
    "postgres://me@127.0.0.1:1/db?token=hunter2",
  ];
  for (const store of given) {
    for (const words of [["runs"], ["store", "verify"], ["deploy", "recipes", "--to", "crontab"], ["next"]]) {
      const { code, out, err } = await cli([...words, "--store", store]);
      assertEquals([code, out], [2, ""], `${words} ${store}`);
      assertStringIncludes(err, "Cannot accept a password in --store");
      assertStringIncludes(err, "HSGATE_STORE_PASSWORD");
      assertStringIncludes(err, "HSGATE_STORE ");
      assertEquals(err.includes("hunter2"), false, err);
    }
  }
  const [refused, byVariable, withoutPassword] = [
    await cli(["runs", "--store", "postgres://me:hunter2@127.0.0.1:1/db"]),
    await cli(["runs"], { env: { HSGATE_STORE: "postgres://me:hunter2@127.0.0.1:1/db" } }),
    await cli(["runs", "--store", "postgres://me@127.0.0.1:1/db"], {
      env: { HSGATE_STORE_PASSWORD: "hunter2" },
    }),
  ];
  const tried = [refused, byVariable, withoutPassword].map(({ err }) =>
    err.includes("Cannot reach the store")
  );
  assertEquals(tried, [false, true, true], byVariable.err + withoutPassword.err);
});

Deno.test("a store URL with an invalid percent sign in its password causes a clear error", async () => {
  const { code, err } = await cli(["runs"], {
    env: { HSGATE_STORE: "postgres://u:100%S3cr@127.0.0.1:1/db" },
  });
  assertEquals([code, err.includes("S3cr"), err.includes("internal error")], [1, false, false], err);
  assertStringIncludes(err, "Cannot read the URL of the store: ");
  assertStringIncludes(err, "%25");
});

Deno.test("withoutCredentials() hides what can be a secret in addresses and connection strings, and nothing else", () => {
  const hidden: [text: string, shown: string][] = [
    ["postgres://user:pa55@host/db", "postgres://user:[secret]@host/db"],
    [
      'Cannot read "postgres://user:pa/s?s#w@rd@host/db": no',
      'Cannot read "postgres://user:[secret]@host/db": no',
    ],
    ["https://:token@host", "https://:[secret]@host"],
    ["postgresql+tls://u:p'w@[::1]:5432", "postgresql+tls://u:[secret]@[::1]:5432"],
    ["/work/postgres:/user:pa55@host/db", "/work/postgres:/user:[secret]@host/db"],
    ["x%2Fpostgres:%2F%2Fuser%3Apa55%40host", "x%2Fpostgres:%2F%2Fuser%3A[secret]%40host"],
    ["host=h password=pa55 user=u", "host=h password=[secret] user=u"],
    ["host=h password = 'pa 55' user=u", "host=h password = [secret] user=u"],
    ["HSGATE_TRADE_PASSWORD=135790 x", "HSGATE_TRADE_PASSWORD=[secret] x"],
    ["postgres://h/db?user=u&password=pa55&x=1", "postgres://h/db?user=u&password=[secret]&x=1"],
    // Members of a query that are secrets by their name.
    ["http://h:1/x?token=pa55&a=1", "http://h:1/x?token=[secret]&a=1"],
    ["http://h/?a=1&api_key=pa#55'x", "http://h/?a=1&api_key=[secret]"],
    ["h?accessToken=pa55 x?client-secret%3Dpa55", "h?accessToken=[secret] x?client-secret%3D[secret]"],
    ["http://h/#key=pa55;x&sig=pa55&PWD=pa55", "http://h/#key=[secret]&sig=[secret]&PWD=[secret]"],
    // In misspelt addresses, hsgate hides everything that could be user and password.
    ["postgres:user:pa55@host/db", "postgres:[secret]@host/db"],
    ["postgres//user:pa:5/5@host/db", "postgres//user:[secret]@host/db"],
    ["postgres/user:pa55@host:5432", "postgres/user:[secret]@host:5432"],
    ["https;//user:pa55@host", "https;//user:[secret]@host"],
    ["user:pa55@host", "user:[secret]@host"],
    ["user%3Apa55%40host", "user%3A[secret]%40host"],
    ["postgres:/pa55@host http//pa55@host", "postgres:/[secret]@host http//[secret]@host"],
    ["postgres://user:pa55host/db", "postgres://user:[secret]"],
    ["http://127.0.0.1:1,https://user:1234567", "http://127.0.0.1:1,https://user:[secret]"],
    ["smtp://user:pa55: refused", "smtp://user:[secret] refused"],
    ["postgres:user:pa55host/db", "postgres:user:[secret]"],
    ["postgres//user:pa55host/db", "postgres//user:[secret]"],
    ["https://us[er:pa55", "https://us[er:[secret]"],
  ];
  for (const [text, shown] of hidden) assertEquals(withoutCredentials(text), shown);
  const kept = [
    "http://127.0.0.1:11111, and mail to a@example.com",
    '{"gatewayUrl":"http://127.0.0.1:11111","mail":"a@example.com"}',
    "postgres://user@host:5432/db",
    "write HSGATE_GATEWAY_URL=, HSGATE_TRADE_PASSWORD= and the other settings",
    "C:/Users/a@b: 10:30 file:///a@b",
    "http://[::1]:8080/x http://[::1]/x http://[fe80::1]: (http://h:80) wss://h:443/a:b?c:d http://h: h",
    "npm:yaml@2.9.1 jsr:@std/yaml@1 mailto:a@b.example file:///a@b/c.ts:12:3 (file:///C:/a.ts:12:3)",
    "node:fs hk:00700 2025-08-15T09:30:00.000Z git@host:path https://host:port/x https://HOST:PORT",
    "postgres://u@h/db?host=/run/a&sslkey=b.pem&schema=c http://h/?monkey=",
  ];
  for (const text of kept) assertEquals(withoutCredentials(text), text);
  // A search that restarts at each part would not end within the time of this test.
  for (
    const part of [
      "a:/u:",
      "a.",
      "a:/",
      "password='",
      "@a:/u",
      "a:",
      "https",
      "http;//",
      "http:",
      "?key",
      "?",
      "%3A",
      "://[:",
      "[:",
    ]
  ) {
    const long = part.repeat(1_000_000 / part.length);
    assertEquals(withoutCredentials(long).length > 0, true);
  }
});

Deno.test("log lines of a process with tracing are also free of passwords", () => {
  const TRACER = Symbol.for("opentelemetry.js.api.1");
  const lines: string[] = [];
  const log = console.log;
  console.log = (line: string) => void lines.push(line);
  Reflect.set(globalThis, TRACER, { trace: {} });
  try {
    const host = shownHost(
      { out: (line: string) => void lines.push(line), color: false } as Partial<Host> as Host,
      { words: ["runs", "--store", "postgres://u:hunter2@h"] },
    );
    host.hide?.("Tr4de-pass");
    logTarget(host).out("\x1b[2J Tr4de-pass postgres://u:hunter2@h");
  } finally {
    Reflect.deleteProperty(globalThis, TRACER);
    console.log = log;
  }
  assertEquals(lines.length, 1);
  assertEquals(lines[0]?.trimStart(), "[2J [secret] postgres://u:[secret]@h");
});
