import { assert, assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import forge from "node-forge";
import { createServer, isIP, type Server, type Socket } from "node:net";
import { TLSSocket } from "node:tls";
import { openPostgres } from "../../lib/store/postgres.ts";
import { checkMessages, type MessageSource } from "../../lib/store/server_messages.ts";
import { readPostgresUrl } from "../../lib/store/postgres_url.ts";
import type { Store } from "../../lib/store/store.ts";
import { StoreError } from "../../lib/store/store_error.ts";
import { behindProxy, type Harm } from "../support/database_proxy.ts";
import { asAdmin, temporarySchema } from "../support/postgres.ts";
import { hasServer, startServer } from "../support/postgres_server.ts";
import { postgres } from "../support/stores.ts";

const ignore = postgres === undefined;

const add = (store: Store, name: string) =>
  store.run("insert into lease (name, holder, fence, until) values (?, '', 0, 0)", name);
const names = async (store: Store) =>
  (await store.all<{ name: string }>("select name from lease order by name")).map(({ name }) => name);

async function outcomeOf(work: () => Promise<unknown>): Promise<string> {
  try {
    await work();
    return "ok";
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    return error.code!; // a StoreError always has one
  }
}

for (const harm of ["cut", "cut-answer", "stall", "half-close"] satisfies Harm[]) {
  Deno.test({
    name:
      `PostgresStore.transaction() keeps all or nothing and says which, if its connection breaks at any message (${harm})`,
    ignore,
    async fn() {
      await using place = await behindProxy(postgres!, { answerMs: 2_000, connectMs: 2_000 });
      const { proxy, direct } = place;
      const outcomes = new Set<string>();
      let hits = 0;
      for (let at = 0; at < 20; at++) {
        await using store = await place.open();
        await add(store, `before ${at}`); // its connection has been used
        const pair = [`a ${at}`, `b ${at}`];
        proxy.plan(at, harm);
        const outcome = await outcomeOf(() =>
          store.transaction(async () => {
            for (const name of pair) await add(store, name);
          })
        );
        const kept = (await names(direct)).filter((name) => pair.includes(name));
        const wasHit = proxy.seen > at;
        hits += wasHit ? 1 : 0;
        proxy.count();
        if (outcome === "ok") assertEquals(kept, pair);
        else assertEquals([outcome, kept], ["lost-connection", []]);
        outcomes.add(outcome);
        // After a stall, the old transaction keeps the lock until the database ends it. Wait for that.
        await waitForLock(direct);
        // The next call gets a new connection, and everything is as before.
        await add(store, `after ${at}`);
        if (!wasHit) break;
      }
      assert(hits >= 4, `${hits} messages were harmed`); // begin, two statements, commit
      assertEquals([...outcomes].sort(), ["lost-connection", "ok"]);
    },
  });
}

Deno.test({
  name: "PostgresStore.transaction() reports an unknown commit if the server disappears during the commit",
  ignore,
  async fn() {
    await using place = await behindProxy(postgres!, { answerMs: 500, connectMs: 500, askMs: 700 });
    const { proxy, direct } = place;
    await using store = await place.open();
    proxy.plan(2, "cut-answer"); // begin, the statement, commit
    const outcome = outcomeOf(() =>
      store.transaction(async () => {
        await add(store, "a");
        proxy.refuse();
      })
    );
    assertEquals(await outcome, "unknown-commit");
    assertEquals(await names(direct), ["a"]);
  },
});

/** Waits until no silent transaction has the lock. */
async function waitForLock(store: Store): Promise<void> {
  for (;;) if (await outcomeOf(() => store.transaction(() => {})) === "ok") return;
}

Deno.test(
  { name: "PostgresStore continues to read after its idle connection was closed", ignore },
  async () => {
    await using place = await behindProxy(postgres!);
    await using store = await place.open();
    await add(store, "a");
    await asAdmin(
      postgres!,
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'hsgate' and query <> ''" +
        ` and pid in (select pid from pg_stat_activity where query like '%${"insert into lease"}%' or query = 'commit')`,
    );
    assertEquals(await names(store), ["a"]);
    await add(store, "b");
    assertEquals(await names(store), ["a", "b"]);
  },
);

Deno.test(
  { name: "PostgresStore.now() returns the database's time, and advances between queries", ignore },
  async () => {
    let monotonic = 1_000_000;
    await using schema = temporarySchema(postgres!);
    await using store = await openPostgres(schema.url, {
      machine: { now: () => Date.now(), monotonic: () => monotonic },
    });
    const [row] = await asAdmin(
      postgres!,
      "select (extract(epoch from clock_timestamp()) * 1000)::float8 as at",
    );
    const before = Number(row!.at);
    await store.transaction(() => {});
    const now = store.now()!;
    assert(now >= before, `${now} is before ${before}`);
    monotonic += 1_234;
    assertEquals(store.now(), now + 1_234);
  },
);

Deno.test(
  { name: "PostgresStore rejects a schema of another program, and leaves it unchanged", ignore },
  async () => {
    await using schema = temporarySchema(postgres!);
    await asAdmin(postgres!, `create schema ${schema.schema}; create table ${schema.schema}.other (n int)`);
    const error = await assertRejects(() => openPostgres(schema.url), StoreError);
    assertEquals(error.code, "not-a-store");
    const tables = await asAdmin(postgres!, `select * from pg_tables where schemaname = '${schema.schema}'`);
    assertEquals(tables.length, 1);
  },
);

/** Starts a server that calls `serve` for each connection. `serve` adds what it receives to `heard`. */
async function fakeServer(serve: (socket: Socket, heard: Uint8Array[]) => void) {
  const heard: Uint8Array[] = [];
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    serve(socket, heard);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new TypeError("no port");
  return {
    port: address.port,
    heard: () => heard.map((each) => new TextDecoder().decode(each)).join(""),
    async [Symbol.asyncDispose]() {
      for (const each of sockets) each.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

/** Returns an error in PostgreSQL's format (protocol 3, ErrorResponse). */
function errorResponse(code: string, message: string): Uint8Array {
  const body = new TextEncoder().encode(`SFATAL\0C${code}\0M${message}\0\0`);
  const bytes = new Uint8Array(5 + body.length);
  bytes[0] = 69; // E
  new DataView(bytes.buffer).setUint32(1, 4 + body.length);
  bytes.set(body, 5);
  return bytes;
}

Deno.test("openPostgres() reports why a server rejects the connection, without the password", async () => {
  const cases: [code: string, message: string, expected: string][] = [
    ["53300", "sorry, too many clients already", "full"],
    ["53100", "could not extend file: No space left on device", "full"],
    ["28P01", 'password authentication failed for user "me"', "no-access"],
    ["3D000", 'database "d" does not exist', "no-access"],
    ["57P03", "the database system is starting up", "lost-connection"],
    ["XX000", "long".repeat(100_000), "failed"],
  ];
  for (const [code, message, expected] of cases) {
    await using server = await fakeServer((socket) =>
      socket.once("data", () => socket.end(errorResponse(code, message)))
    );
    const error = await assertRejects(
      () => openPostgres(`postgres://me:hush-hush@127.0.0.1:${server.port}/d`),
      StoreError,
    );
    assertEquals(error.code, expected, code);
    assertStringIncludes(error.message, message.slice(0, 2_000));
    assert(error.message.length < 3_000, `${error.message.length}`);
    assertStringIncludes(error.message, `postgres://me@127.0.0.1:${server.port}/d`);
    assert(!Deno.inspect(error).includes("hush-hush"), Deno.inspect(error));
  }
});

/** Returns a message of a server (protocol 3). */
function serverMessage(type: string, ...parts: (number | string)[]): Uint8Array {
  const body = parts.flatMap((part) =>
    typeof part === "number"
      ? [...new Uint8Array(new Uint32Array([part]).buffer).reverse()]
      : [...new TextEncoder().encode(part)]
  );
  const length = new Uint8Array(new Uint32Array([body.length + 4]).buffer).reverse();
  return Uint8Array.from([type.charCodeAt(0), ...length, ...body]);
}
const LOGGED_IN = serverMessage("R", 0);
const READY = serverMessage("Z", "I");
const SCRAM = serverMessage("R", 10, "SCRAM-SHA-256\0\0");
/** Returns the server's second message of a SCRAM login, for the nonce in a client's message. */
const challenge = (heard: string, rest: string) =>
  serverMessage("R", 11, `r=${/r=([^,\0]*)/.exec(heard)?.[1]}x,${rest}`);

Deno.test("openPostgres() without TLS uses a password only with SCRAM, and accepts only a server that proves that it knows the password", async () => {
  const weak = "fewer than 4096 iterations";
  const unproven = "has not proven that it knows the password";
  const cases: [
    what: string,
    answers: ((heard: string) => Uint8Array[])[],
    why: string,
    password?: string,
  ][] = [
    ["cleartext", [() => [serverMessage("R", 3)]], "asks for the password without encryption"],
    ["MD5", [() => [serverMessage("R", 5, "salt")]], "asks for the password as an MD5 hash"],
    ["one iteration", [() => [SCRAM], (heard) => [challenge(heard, "s=c2FsdA==,i=1")]], weak],
    ["4095 iterations", [() => [SCRAM], (heard) => [challenge(heard, "s=c2FsdA==,i=4095")]], weak],
    ["two counts", [() => [SCRAM], (heard) => [challenge(heard, "s=c2FsdA==,i=4096,i=1")]], weak],
    ["no login", [() => [LOGGED_IN, READY]], unproven],
    [
      "no proof",
      [() => [SCRAM], (heard) => [challenge(heard, "s=c2FsdA==,i=4096"), LOGGED_IN, READY]],
      unproven,
    ],
    ["SCRAM without its steps", [() => [SCRAM, LOGGED_IN, READY]], unproven],
    [
      "a wrong proof",
      [
        () => [SCRAM],
        (heard) => [challenge(heard, "s=c2FsdA==,i=4096")],
        () => [serverMessage("R", 12, "v=c2FsdA=="), LOGGED_IN, READY],
      ],
      "server signature does not match",
    ],
    [
      "a late request",
      [() => [LOGGED_IN, READY], () => [serverMessage("R", 3)]],
      "asks for the password",
      "",
    ],
    [
      "no password",
      [() => [SCRAM], (heard) => [challenge(heard, "s=c2FsdA==,i=4096")]],
      "set HSGATE_STORE_PASSWORD",
      "",
    ],
  ];
  for (const [what, answers, why, password = ":hush-hush"] of cases) {
    await using server = await fakeServer((socket, heard) => {
      let step = 0;
      socket.on("data", (bytes: Uint8Array) => {
        heard.push(bytes);
        for (const answer of answers[step++]?.(new TextDecoder().decode(bytes)) ?? []) socket.write(answer);
      });
    });
    const error = await assertRejects(
      () => openPostgres(`postgres://me${password}@127.0.0.1:${server.port}/d`, { connectMs: 2_000 }),
      StoreError,
    );
    assertStringIncludes(error.message, why, what);
    assertEquals(error.code, "no-access", what);
    const heard = server.heard();
    assert(!heard.includes("hush-hush") && !heard.includes("md5"), `${what}: ${heard}`);
    // With a SCRAM proof, the server could search for the password.
    if (why === weak) assert(!heard.includes(",p="), `${what}: ${heard}`);
  }
});

Deno.test({
  name:
    "openPostgres() without TLS logs in to a server with SCRAM, and not with MD5 or an unencrypted password",
  ignore: !hasServer,
  async fn() {
    const server = await startServer();
    if (typeof server === "string") throw new Error(server);
    await using _ = server;
    const [{ file } = { file: "" }] = await asAdmin(server.url, "show hba_file").then((rows) =>
      rows.map(({ hba_file }) => ({ file: hba_file }))
    );
    const lines = ["scram-sha-256", "md5", "password"].map((method) =>
      `local all ${method.slice(0, 3)}er ${method}`
    );
    await asAdmin(
      server.url,
      `create role screr login password 'hush-hush'; grant create on database postgres to screr;
       create role paser login password 'hush-hush';
       set password_encryption = 'md5'; create role md5er login password 'hush-hush';
       copy (select unnest(array[${
        [...lines, "local all admin trust"].map((line) => `'${line}'`).join()
      }])) to '${file}';
       select pg_reload_conf()`,
    );
    const openAs = (user: string, password = "hush-hush") =>
      openPostgres(server.url.replace("admin@", `${user}:${password}@`));
    await using store = await openAs("screr");
    await add(store, "a");
    assertEquals(await names(store), ["a"]);
    const wrong = await assertRejects(
      () => openAs("screr", "wrong"),
      StoreError,
      "password authentication failed",
    );
    assertEquals(wrong.code, "no-access");
    await assertRejects(() => openAs("md5er"), StoreError, "asks for the password as an MD5 hash");
    await assertRejects(() => openAs("paser"), StoreError, "asks for the password without encryption");
  },
});

Deno.test("openPostgres() reports every error of a server, even an error that hsgate does not know", async () => {
  for (const isLoggedIn of [false, true]) {
    for (const code of ["XX000", "58030", "F0000", "42704", "0A000"]) {
      await using server = await fakeServer((socket) => {
        if (isLoggedIn) socket.once("data", () => socket.write(Uint8Array.from([...LOGGED_IN, ...READY])));
        const event = isLoggedIn ? 2 : 1;
        let seen = 0;
        socket.on("data", () => {
          if (++seen === event) {
            socket.write(Uint8Array.from([...errorResponse(code, "no such thing"), ...READY]));
          }
        });
      });
      const error = await assertRejects(
        () => openPostgres(`postgres://me@127.0.0.1:${server.port}/d`, { connectMs: 2_000 }),
        StoreError,
        "no such thing",
      );
      assertEquals(error.code, /^(XX|58|F0)/.test(code) ? "failed" : "no-access", code);
    }
  }
});

Deno.test("PostgresStore rejects unreadable and too large messages of a server with its own error", async () => {
  const head = (type: string, length: number) =>
    serverMessage(type).with(1, length >> 24).with(2, length >> 16 & 255);
  const cases: [what: string, message: Uint8Array, why: string][] = [
    ["a login with GSSAPI", serverMessage("R", 7), "cannot read (Unknown authenticationOk message type 7)"],
    ["an unknown login", serverMessage("R", 99), "cannot read (Unknown authenticationOk message type 99)"],
    ["a notice without an end", serverMessage("N", "Mx"), "without an end"],
    ["an error without an end", serverMessage("E", "SFATAL\0Mx\0"), "without an end"],
    ["an empty error", serverMessage("E"), "an empty error"],
    ["a huge notice", head("N", 0x40000000), "bytes; at most 1048576 are allowed"],
    ["a huge error", head("E", 0x02000000), "bytes; at most 1048576 are allowed"],
    ["a huge row", head("D", 0x7f000000), "are allowed"],
    ["no length", Uint8Array.of(82, 0, 0, 0, 0), "is too small"],
    ["a row without its columns", serverMessage("D", 0x00ff0000), "cannot read"],
  ];
  for (const isLoggedIn of [false, true]) {
    for (const [what, message, why] of cases) {
      await using server = await fakeServer((socket) => {
        let seen = 0;
        socket.on("data", () => {
          if (isLoggedIn && ++seen === 1) return socket.write(Uint8Array.from([...LOGGED_IN, ...READY]));
          // In two pieces, to split the head of the message too.
          socket.write(message.subarray(0, 3), () => socket.write(message.subarray(3)));
        });
      });
      const error = await assertRejects(
        () => openPostgres(`postgres://me@127.0.0.1:${server.port}/d`),
        StoreError,
      );
      // Before the login, the limit for a row is as small as for any other message.
      const expected = what === "a huge row" && !isLoggedIn ? "at most 1048576 are allowed" : why;
      assertStringIncludes(error.message, expected, `${what}, ${isLoggedIn}`);
      assertEquals(error.code, "lost-connection", what);
    }
  }
});

Deno.test("PostgresStore rejects an endless answer, and an answer without the requested rows", async () => {
  const pair = (number: number) => String.fromCharCode(number >> 8, number & 255);
  const column = serverMessage("T", pair(1), "a\0", 0, pair(0), 25, pair(1), 0, pair(0));
  const rows = serverMessage("D", pair(1), 1, "x");
  const many = new Uint8Array(rows.length * 20_000);
  for (let at = 0; at < many.length; at += rows.length) many.set(rows, at);
  const done = Uint8Array.from([...serverMessage("C", "SELECT 1\0"), ...READY]);
  for (
    const [answer, isEndless, why] of [
      [done, false, "without the rows that were asked for"],
      [READY, false, "without the rows that were asked for"],
      [many, true, "an answer of more than"],
    ] as const
  ) {
    await using server = await fakeServer((socket) => {
      let seen = 0;
      const flood = () => void (!socket.destroyed && socket.write(answer, flood));
      socket.on("data", () => {
        if (++seen === 1) return socket.write(Uint8Array.from([...LOGGED_IN, ...READY]));
        if (!isEndless) return socket.write(answer);
        socket.write(column);
        flood();
      });
    });
    const error = await assertRejects(
      () => openPostgres(`postgres://me@127.0.0.1:${server.port}/d`, { answerMs: 120_000 }),
      StoreError,
    );
    assertStringIncludes(error.message, why);
    assertEquals(error.code, "lost-connection");
  }
});

Deno.test("PostgresStore rejects rows that do not fit their description, and invalid numbers, with its own error", async () => {
  const pair = (number: number) => String.fromCharCode(number >> 8, number & 255);
  const columns = (...all: [name: string, type: number][]) =>
    serverMessage(
      "T",
      pair(all.length),
      ...all.flatMap(([name, type]) => [`${name}\0`, 0, pair(0), type, pair(8), 0, pair(0)]),
    );
  const values = (...all: string[]) =>
    serverMessage("D", pair(all.length), ...all.flatMap((each) => [each.length, each]));
  const done = serverMessage("C", "SELECT 1\0");
  const settings = [
    columns(["version", 23], ["fsync", 25], ["standby", 16]),
    values("150000", "on", "f"),
    done,
  ];
  const clock = [columns(["at", 20]), values("1"), done];
  const start = [...settings, ...clock];
  const long = "9".repeat(5_000);
  const cases: [what: string, first: Uint8Array[], why: string][] = [
    [
      "more values than columns",
      [...settings, columns(["at", 20]), values("1", "2"), done],
      "a row that hsgate cannot read",
    ],
    ["values without columns", [values("1"), done], "a row that hsgate cannot read"],
    [
      "a clock of thousands of digits",
      [...settings, columns(["at", 20]), values(long), done],
      "without the rows",
    ],
    [
      "a clock that is no number",
      [...settings, columns(["at", 701]), values("NaN"), done],
      "without the rows",
    ],
    [
      "a version that is no number",
      [columns(["version", 23]), values("new"), done, ...clock],
      "15 or later is needed",
    ],
    ["a large number", start, 'the value of "there" of the table "pg_namespace"'],
  ];
  for (const [what, first, why] of cases) {
    await using server = await fakeServer((socket) => {
      let seen = 0;
      socket.on("data", () => {
        if (++seen === 1) return socket.write(Uint8Array.from([...LOGGED_IN, ...READY]));
        const answer = seen === 2
          ? first
          : [serverMessage("1"), serverMessage("2"), columns(["there", 20]), values(long), done];
        socket.write(Uint8Array.from([...answer.flatMap((each) => [...each]), ...READY]));
      });
    });
    const error = await assertRejects(
      () => openPostgres(`postgres://me@127.0.0.1:${server.port}/d`),
      StoreError,
    );
    assertStringIncludes(error.message, why, what);
    assert(error.message.length < 300 && !/undefined|is not a function/.test(error.message), error.message);
  }
});

Deno.test("the size limit of PostgreSQL's answers applies to each answer separately", () => {
  const errors: string[] = [];
  let receive = (_bytes: Uint8Array) => {};
  const source: MessageSource = {
    attachListeners: (stream) => void stream.on("data", () => {}),
    emit: (_event, { message }) => void errors.push(message),
  };
  checkMessages(source);
  source.attachListeners({ on: (_event, listener) => receive = listener, destroy() {} });
  const small = serverMessage("3");
  // 63 % of the limit: each message counts as its length of 4 bytes plus 500 for its object.
  const answer = new Uint8Array(small.length * 1_000_000);
  for (let at = 0; at < answer.length; at += small.length) answer.set(small, at);
  for (let count = 0; count < 3; count++) {
    receive(answer);
    receive(READY);
  }
  assertEquals(errors, []);
  receive(answer);
  receive(answer);
  assertEquals(errors.length, 1);
  assertStringIncludes(errors[0]!, "an answer of more than");
});

/** Returns a self-signed certificate for a name. */
function certificateFor(name: string): { key: string; cert: string } {
  const keys = forge.pki.rsa.generateKeyPair(2048);
  const cert = forge.pki.createCertificate();
  cert.publicKey = keys.publicKey;
  cert.serialNumber = "01";
  cert.validity.notBefore = new Date(Date.now() - 86_400_000);
  cert.validity.notAfter = new Date(Date.now() + 86_400_000);
  const who = [{ name: "commonName", value: name }];
  cert.setSubject(who);
  cert.setIssuer(who);
  cert.setExtensions([
    { name: "basicConstraints", cA: true },
    {
      name: "subjectAltName",
      altNames: [isIP(name) !== 0 ? { type: 7, ip: name } : { type: 2, value: name }],
    },
  ]);
  cert.sign(keys.privateKey, forge.md.sha256.create());
  return { key: forge.pki.privateKeyToPem(keys.privateKey), cert: forge.pki.certificateToPem(cert) };
}

Deno.test("openPostgres() sends no user name or password to a server whose certificate is unknown, or for another name or address", async () => {
  const file = await Deno.makeTempFile({ suffix: ".pem" });
  try {
    const own = certificateFor("localhost");
    const other = certificateFor("db.example.com");
    const address = certificateFor("127.0.0.1");
    const otherAddress = certificateFor("127.0.0.2");
    const cases: [
      what: string,
      host: string,
      made: { key: string; cert: string },
      trusted: string | undefined,
      passes: boolean,
    ][] = [
      ["unknown", "localhost", own, undefined, false],
      ["of another name", "localhost", other, other.cert, false],
      ["as named", "localhost", own, own.cert, true],
      ["of an unknown address", "127.0.0.1", address, undefined, false],
      ["of another address", "127.0.0.1", otherAddress, otherAddress.cert, false],
      ["of a name, not of the address", "127.0.0.1", own, own.cert, false],
      ["of the address", "127.0.0.1", address, address.cert, true],
    ];
    for (const [what, host, made, trusted, passes] of cases) {
      await using server = await fakeServer((socket, heard) => {
        socket.once("data", () => {
          socket.write("S");
          const secure = new TLSSocket(socket, { isServer: true, ...made });
          secure.on("error", () => {});
          secure.on("data", (bytes: Uint8Array) => {
            heard.push(bytes);
            secure.end(errorResponse("28P01", "refused"));
          });
        });
      });
      if (trusted !== undefined) await Deno.writeTextFile(file, trusted);
      const root = trusted === undefined ? "" : `&sslrootcert=${file}`;
      const url =
        `postgres://me:hush-hush@localhost:${server.port}/d?host=${host}&sslmode=verify-full${root}`;
      const error = await assertRejects(() => openPostgres(url), StoreError);
      assertEquals(error.code, passes ? "no-access" : "lost-connection", `${what}: ${error.message}`);
      // Refused for its certificate, not for another fault.
      assertEquals(/certificate|altnames/i.test(error.message), !passes, `${what}: ${error.message}`);
      assertEquals(server.heard().includes("me"), passes, what);
    }
  } finally {
    await Deno.remove(file);
  }
});

Deno.test("openPostgres() sends no user name or password to a server without TLS if TLS is required", async () => {
  await using server = await fakeServer((socket, heard) =>
    socket.on("data", (bytes: Uint8Array) => {
      heard.push(bytes);
      socket.write("N");
    })
  );
  const url = `postgres://me:hush-hush@127.0.0.1:${server.port}/d?sslmode=verify-full`;
  const error = await assertRejects(() => openPostgres(url), StoreError);
  assertEquals(error.code, "lost-connection");
  assert(!server.heard().includes("me"), server.heard());
});

Deno.test("readPostgresUrl() accepts only supported parameters, and uses TLS for other machines unless sslmode=disable", () => {
  const local = readPostgresUrl("postgres://me@localhost/d");
  assertEquals([local.host, local.port, local.user, local.database, local.tls, local.schema], [
    "localhost",
    5432,
    "me",
    "d",
    undefined,
    "hsgate",
  ]);
  assertEquals(readPostgresUrl("postgres://db.example.com/d").tls, {});
  assertEquals(readPostgresUrl("postgres://db.example.com/d?sslmode=disable").tls, undefined);
  assertEquals(readPostgresUrl("postgres://[::1]:6000/d").host, "::1");
  for (
    const url of ["postgres://me@%2Fvar%2Frun%2Fpostgresql/d", "postgres://me@/d?host=/var/run/postgresql"]
  ) {
    const { host, name, tls } = readPostgresUrl(url);
    assertEquals([host, name, tls], [
      "/var/run/postgresql",
      "postgres://me@/d?host=/var/run/postgresql",
      undefined,
    ], url);
  }
  const target = readPostgresUrl("postgresql://a%40b:p%3Aw@h:5433/d%20e?schema=other");
  assertEquals([target.user, target.password, target.database], ["a@b", "p:w", "d e"]);
  assertEquals(target.name, "postgres://a%40b@h:5433/d e?schema=other");
  const refused: [url: string, why: string][] = [
    ["postgres://me:hush-hush@h:99999/d", "it is not a valid URL"],
    ["postgres://me:hush-hush@h/d?sslmode=require", "does not verify the server"],
    ["postgres://me:hush-hush@h/d?target_session_attrs=any", 'it contains "target_session_attrs"'],
    ["postgres://me:hush-hush@h/d?schema=A;drop", "its schema"],
    ["postgres://me:hush-hush@h/d?sslmode=disable&sslrootcert=x", "no TLS"],
    ["postgres://h/", "it names no database"],
  ];
  for (const [url, why] of refused) {
    const error = assertThrows(() => readPostgresUrl(url), StoreError, why);
    assert(!Deno.inspect(error).includes("hush-hush"), url);
  }
});
