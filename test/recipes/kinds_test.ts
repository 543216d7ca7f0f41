/** Tests of the built-in steps. */
import { hasProgram } from "../support/programs.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { createClient } from "../../lib/client/client.ts";
import { BrokerError, DisplacedError, InvalidParamsError } from "../../lib/errors.ts";
import type { DayBookResult } from "../../lib/day_book/mod.ts";
import type { CancelledOrders } from "../../lib/recipes/kinds/cancel_open_orders.ts";
import { notify } from "../../lib/recipes/kinds/notify.ts";
import type { Waited } from "../../lib/recipes/kinds/wait_for.ts";
import type { Recorded } from "../../lib/recipes/kinds/watch.ts";
import { compileRecipe, loadRecipe, RecipeError, type StepContext } from "../../lib/recipes/mod.ts";
import { gateway } from "../../lib/transports/gateway.ts";
import { memory } from "../../lib/transports/memory.ts";
import { readTree } from "../day_book/scripted_gateway.ts";
import {
  buyOnce,
  FRIDAY_MORNING,
  type Simulated,
  simulated,
  temporaryFolder,
} from "../day_book/simulated.ts";
import { notifyWith } from "./notify_child.ts";
import { type Noted, stepContext } from "./support.ts";

const session = {
  date: "2025-08-15",
  open: "2025-08-15T09:30:00+08:00",
  close: "2025-08-15T16:00:00+08:00",
  halfDay: false,
};

/** Compiles one step as in a recipe, and runs it. */
async function runStep(
  broker: Simulated | undefined,
  { uses, given, write }: { uses: string; given: unknown; write?: true },
  context: Partial<StepContext> = {},
  noted?: Noted,
): Promise<unknown> {
  const text = JSON.stringify({
    name: "test",
    ...write && { window: "XHKG.open..XHKG.close-10m" },
    params: { day: "2025-08-15" },
    secrets: { hook: { env: "HOOK" } },
    steps: [{ id: "step", uses, with: given }],
  });
  const recipe = await compileRecipe(text, "test.json");
  const made = stepContext(broker, { params: recipe.params, session, ...context }, noted);
  return await recipe.steps[0]!.run(made);
}

Deno.test("wait-for feesCleared checks until every fill of the session has its fees", async () => {
  await using broker = await simulated({ at: FRIDAY_MORNING });
  await buyOnce(broker);
  broker.clock.set(Date.parse("2025-08-15T17:00:00+08:00"));
  const given = { feesCleared: { markets: ["hk"] }, every: "30m", atMost: "20h" };
  const { ok, looks, waitedMs, seen } = await runStep(broker, { uses: "wait-for", given }) as Waited; // the output of the step
  assert(looks > 2 && waitedMs === (looks - 1) * 1_800_000, `${looks} checks in ${waitedMs} ms`);
  const { day, fills, without } = seen as { day: string; fills: number; without: number }; // what feesCleared counts
  assertEquals([ok, day, without, fills > 0], [true, "2025-08-15", 0, true]);
});

Deno.test("wait-for orderDone, price and session end when their condition is met; orderDone can time out", async () => {
  await using broker = await simulated({ at: FRIDAY_MORNING });
  const { client } = broker;
  const [quote] = await client.quotes.latest({ securities: [{ type: "hk-stock", symbol: "00700.HK" }] });
  const place = async (factor: number) => {
    const price = String(Math.floor(Number(quote!.lastPrice) * factor));
    const order = {
      market: "hk",
      symbol: "00700.HK",
      quantity: "100",
      side: "buy",
      orderType: "enhanced-limit",
      price,
    } as const;
    return (await client.orders.place(order)).orderId;
  };
  const orderDone = async (orderId: string) =>
    await runStep(broker, {
      uses: "wait-for",
      given: { orderDone: { market: "hk", orderId }, atMost: "5m" },
    });
  const filled = await orderDone(await place(1.01)) as Waited; // the output of the step
  assertEquals((filled.seen as { status: string }).status, "filled");
  const late = await assertRejects(async () => await orderDone(await place(0.9)), BrokerError);
  assertEquals(late.code, "wait-timeout");
  assertStringIncludes(late.message, "Gave up waiting after 5m: order ");
  const price = { security: "00700.HK", atLeast: "1" };
  const priced = await runStep(broker, { uses: "wait-for", given: { price } }) as Waited; // the output of the step
  assertEquals([priced.ok, priced.looks], [true, 1]);
  const given = { session: { calendar: "XHKG", moment: "auction-close" }, atMost: "8h" };
  const { looks } = await runStep(broker, { uses: "wait-for", given }) as Waited; // the output of the step
  assertEquals([looks, new Date(broker.clock.now()).toISOString()], [2, "2025-08-15T08:10:00.000Z"]);
});

Deno.test("keep-login says that another device has taken the login over, and does not log in again", async () => {
  await using broker = await simulated();
  broker.simulator.faults.arm({ kind: "expired-login", code: "1013", operation: "account.funds" });
  const error = await assertRejects(() => runStep(broker, { uses: "keep-login", given: {} }), DisplacedError);
  assertStringIncludes(error.message, "another device or program has taken it over");
  assertEquals(broker.simulator.state().callsTaken, 0);
});

Deno.test("cancel-open-orders checks the orders after a lost answer, and never cancels twice", async () => {
  await using broker = await simulated({ at: FRIDAY_MORNING });
  const { client, simulator } = broker;
  const order = {
    market: "hk",
    symbol: "00700.HK",
    quantity: "100",
    side: "buy",
    orderType: "enhanced-limit",
  } as const;
  const [quote] = await client.quotes.latest({ securities: [{ type: "hk-stock", symbol: "00700.HK" }] });
  const price = String(Math.floor(Number(quote!.lastPrice) * 0.9));
  const taken = (await client.orders.place({ ...order, price })).orderId;
  const untouched = (await client.orders.place({ ...order, price })).orderId;
  // The answer to one cancellation is lost after it was accepted; the other cancellation never arrives.
  simulator.faults.arm({ kind: "lost-answer", operation: "orders.cancel" });
  simulator.faults.arm({ kind: "lost-request", operation: "orders.cancel" });
  const given = { markets: ["hk"] };
  const result = await runStep(broker, { uses: "cancel-open-orders", given, write: true }) as CancelledOrders; // the output of the step
  assertEquals([result.ok, result.refused], [false, []]);
  assertEquals([...result.cancelled, ...result.stillOpen].toSorted(), [taken, untouched].toSorted());
  assertEquals([result.cancelled.length, result.stillOpen.length], [1, 1]);
  const rows = await client.orders.today({ market: "hk" }).toArray();
  const open = rows.filter(({ canCancel }) => canCancel).map(({ orderId }) => orderId);
  assertEquals(open, result.stillOpen);
});

Deno.test("watch records pushes for some time, one file for each kind", async () => {
  await using broker = await simulated({ at: FRIDAY_MORNING });
  const { gatewayUrl, pushAddress, tradePassword, tradePasswordKey } = broker.simulator.info;
  await using client = createClient(gateway({ url: gatewayUrl, push: pushAddress, tradePasswordKey }), {
    tradePassword,
  });
  using folder = temporaryFolder();
  const noted: Noted = { artifacts: [], logs: [] };
  let ends = () => {};
  const given = { securities: ["00700.HK"], topics: ["quote"], for: "10m", out: "pushes" };
  const running = runStep(broker, { uses: "watch", given }, {
    out: folder.path,
    client: () => Promise.resolve(client),
    sleep: () => new Promise<void>((resolve) => ends = resolve),
  }, noted);
  const file = `${folder.path}/pushes/2025-08-15/quote.jsonl`;
  // An earlier recording whose file anybody may read and write.
  await Deno.mkdir(`${folder.path}/pushes/2025-08-15`, { recursive: true });
  await Deno.writeTextFile(file, "");
  if (Deno.build.os !== "windows") await Deno.chmod(file, 0o666);
  const linesIn = () =>
    Deno.readTextFile(file).then((text) => text.split("\n").filter((line) => line !== ""));
  while ((await linesIn()).length < 3) {
    broker.clock.advance(5_000);
    broker.simulator.round();
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  ends();
  const result = await running as Recorded; // the output of the step
  const lines = await linesIn();
  assertEquals([result.ok, result.day, result.files, result.counts], [true, "2025-08-15", [file], {
    quote: lines.length,
  }]);
  if (Deno.build.os !== "windows") assertEquals((await Deno.stat(file)).mode! & 0o777, 0o600);
  const { security, quote } = JSON.parse(lines[0]!);
  assertEquals([security.symbol, typeof quote.lastPrice], ["00700.HK", "string"]);
  assertEquals(noted.artifacts.map(({ dataset, businessDay }) => [dataset, businessDay]), [[
    "pushes/quote",
    "2025-08-15",
  ]]);
});

Deno.test("notify posts to a webhook and a chat with an idempotency key, and hides their addresses when they fail", async () => {
  const taken: [string, string | null, unknown][] = [];
  let status = 200;
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    taken.push([new URL(request.url).pathname, request.headers.get("idempotency-key"), await request.json()]);
    return new Response("", { status });
  });
  const base = `http://127.0.0.1:${server.addr.port}`;
  const given = {
    webhook: "${secret:hook}",
    chat: { url: `${base}/chat`, style: "lark" },
    data: { day: "${{ params.day }}" },
  };
  const context = {
    secret: () => Promise.resolve(`${base}/token-4711`),
    outcome: { state: "failed", reason: "step", failedStep: "day-book", error: "no answer" },
  };
  assertEquals(await runStep(undefined, { uses: "notify", given }, context), {
    ok: true,
    sent: ["webhook", "chat"],
  });
  const text = 'test is failed at step "day-book" (2025-08-15): no answer';
  const key = "test/main/2025-08-15/step";
  assertEquals(taken, [
    ["/token-4711", key, {
      text,
      recipe: "test",
      runKey: "test/main/2025-08-15",
      slot: "2025-08-15T08:45:00Z",
      session,
      outcome: context.outcome,
      data: { day: "2025-08-15" },
    }],
    ["/chat", key, { msg_type: "text", content: { text } }],
  ]);
  status = 403;
  const error = await assertRejects(
    () => runStep(undefined, { uses: "notify", given }, context),
    BrokerError,
  );
  // Both are tried, although the first fails.
  const host = `127.0.0.1:${server.addr.port}`;
  assertEquals(
    error.message,
    `Cannot notify by webhook: ${host} answered 403; Cannot notify by chat: ${host} answered 403`,
  );
  assertEquals(taken.length, 4);
  await server.shutdown();
});

Deno.test("the broker's text in a notice or a report cannot control a screen or notify a whole channel", async () => {
  const taken: unknown[] = [];
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    taken.push(await request.json());
    return new Response("");
  });
  const url = `http://127.0.0.1:${server.addr.port}/`;
  const error = "no \x1b[2J\u202e\n@everyone [log in](https://evil.example)";
  const outcome = { state: "failed", reason: "step", failedStep: "a", error };
  for (const style of ["discord", "lark"]) {
    await runStep(undefined, { uses: "notify", given: { chat: { url, style } } }, { outcome });
  }
  const text = 'test is failed at step "a" (2025-08-15): no  [2J \n@everyone [log in] (https://evil.example)';
  assertEquals(taken, [
    { content: text, allowed_mentions: { parse: [] } },
    { msg_type: "text", content: { text } },
  ]);
  await server.shutdown();
  using folder = temporaryFolder();
  const rows = [{ name: "\x1b[31m<img src=x onerror=y> [a](javascript:b)|\n\u202e" }];
  await runStep(undefined, { uses: "convert-report", given: { rows, to: "a.md" } }, { out: folder.path });
  assertEquals(readTree(folder.path), {
    "a.md": "| name |\n| --- |\n|  \\[31m&lt;img src=x onerror=y> \\[a](javascript:b)\\|   |\n",
  });
});

Deno.test("convert-report writes no live link, tag or further cell into Markdown, whatever rows, columns and title say", async () => {
  using folder = temporaryFolder();
  const rows = [{ "[n](http://evil)|x\n": "\\[click](http://evil)", b: "\\|", c: "\\\\", d: "`<b>`" }];
  const title = "Report\n[t](http://evil)";
  await runStep(undefined, { uses: "convert-report", given: { rows, to: "a.md", title } }, {
    out: folder.path,
  });
  assertEquals(
    readTree(folder.path)["a.md"],
    "# Report \\[t](http://evil)\n\n" +
      "| \\[n](http://evil)\\|x  | b | c | d |\n| --- | --- | --- | --- |\n" +
      "| \\\\\\[click](http://evil) | \\\\\\| | \\\\\\\\ | \\`&lt;b>\\` |\n",
  );
});

Deno.test("convert-report escapes control characters in CSV and JSON, and reads the same texts back; exactCsv writes them unchanged", async () => {
  using folder = temporaryFolder();
  const rows = [{ "na\x1bme": "\x1b[2J\u202egnp;=1\n", b: "\\u0041" }];
  const convert = (given: unknown) =>
    runStep(undefined, { uses: "convert-report", given }, { out: folder.path });
  await convert({ rows, to: "a.csv" });
  await convert({ from: "a.csv", to: "b.jsonl" });
  await convert({ from: "b.jsonl", to: "c.json" });
  await convert({ rows, to: "exact.csv", exactCsv: true });
  const tree = readTree(folder.path);
  assertEquals(tree["a.csv"], `na\\u001bme,b\r\n"\\u001b[2J\\u202egnp;'=1\\u000a",\\u005cu0041\r\n`);
  assertEquals(tree["exact.csv"], 'na\x1bme,b\r\n"\x1b[2J\u202egnp;=1\n",\\u0041\r\n');
  assertEquals([JSON.parse(tree["b.jsonl"]!), JSON.parse(tree["c.json"]!)], [rows[0], rows]);
  for (const name of ["b.jsonl", "c.json"]) {
    assertEquals(/(?!\n)[\p{Cc}\p{Cf}]/u.test(tree[name]!), false, name);
  }
});

Deno.test("notify sends mail to a server, with a message id computed from the step's key", async () => {
  const listener = Deno.listen({ port: 0, hostname: "127.0.0.1" });
  const received = takeMail(listener);
  const mail = {
    to: "desk@example.com",
    from: "hsgate@example.com",
    host: "127.0.0.1",
    port: listener.addr.port,
    tls: "none",
  };
  const given = { text: "Margin is thin\nLook now", mail };
  assertEquals(await runStep(undefined, { uses: "notify", given }), { ok: true, sent: ["mail"] });
  const letter = await received;
  assertStringIncludes(letter, "Subject: Margin is thin\r\n");
  assertStringIncludes(letter, "Look now");
  // The first half of the SHA-256 of "test/main/2025-08-15/step".
  assert(/Message-ID: <[0-9a-f]{32}@hsgate>/.test(letter), letter);
  listener.close();
});

Deno.test("notify fails and sends no mail if the recipe names a user and the server refuses the login or offers none", async () => {
  for (const refusal of ["502 not implemented", "535 wrong"]) {
    const listener = Deno.listen({ port: 0, hostname: "127.0.0.1" });
    const received = takeMail(listener, refusal);
    const login = { user: "desk@example.com", password: "${secret:hook}" };
    const mail = {
      to: "desk@example.com",
      from: "hsgate@example.com",
      host: "127.0.0.1",
      port: listener.addr.port,
      tls: "none",
    };
    const given = { text: "x", mail: { ...mail, ...login } };
    const context = { secret: () => Promise.resolve("swordfish") };
    const failed = runStep(undefined, { uses: "notify", given }, context);
    const { message } = await assertRejects(() => failed, BrokerError);
    assertEquals(
      message,
      'Cannot notify by mail: the server "127.0.0.1" refused the login or offers none (EAUTH)',
      refusal,
    );
    assertEquals(await received, "", refusal);
    listener.close();
  }
  const half = { to: "a@example.com", from: "b@example.com", host: "127.0.0.1", port: 9, tls: "none" };
  for (const part of [{ user: "a" }, { password: "b" }]) {
    const { success } = notify.params.safeParse({ text: "x", mail: { ...half, ...part } });
    assertEquals(success, false, JSON.stringify(part));
  }
});

Deno.test({
  name: "notify checks the certificate of a mail server, whatever the environment says",
  ignore: !await hasProgram("openssl", ["version"]),
  async fn() {
    using folder = temporaryFolder();
    const [certFile, keyFile] = [`${folder.path}/cert.pem`, `${folder.path}/key.pem`];
    const made = await new Deno.Command("openssl", {
      args: [
        ...[
          "req",
          "-x509",
          "-newkey",
          "ec",
          "-pkeyopt",
          "ec_paramgen_curve:prime256v1",
          "-nodes",
          "-days",
          "1",
        ],
        ...["-subj", "/CN=elsewhere.example", "-keyout", keyFile, "-out", certFile],
      ],
      stderr: "null",
    }).output();
    assert(made.success);
    const [cert, key] = [certFile, keyFile].map((file) => Deno.readTextFileSync(file));
    const listener = Deno.listenTls({ port: 0, hostname: "127.0.0.1", cert: cert!, key: key! });
    const received = takeMail(listener).catch(() => ""); // the handshake fails
    const mail = {
      to: "desk@example.com",
      from: "hsgate@example.com",
      host: "127.0.0.1",
      port: listener.addr.port,
      tls: "implicit",
      user: "desk@example.com",
      password: "${secret:hook}",
    };
    // Some programs of Node.js need this variable.
    const message = await notifyWith({ text: "x", mail }, { NODE_TLS_REJECT_UNAUTHORIZED: "0" });
    assertStringIncludes(message, "Cannot notify by mail");
    assertStringIncludes(message, "did not accept it (ESOCKET)");
    assertEquals(await received, "");
    listener.close();
  },
});

Deno.test("notify sends mail to another machine only with encryption, lists that machine as a host, and accepts only plain addresses", async () => {
  const mail = { to: "a@example.com", from: "b@example.com", host: "192.0.2.1", port: 9, tls: "none" };
  const given = { text: "x", mail };
  await assertRejects(
    () => runStep(undefined, { uses: "notify", given }),
    BrokerError,
    'Cannot notify by mail: 192.0.2.1: "tls: none" sends the mail and its password unencrypted',
  );
  const names = (tls: string, host = "mail.example") =>
    notify.reaches!({ mail: { ...mail, host, tls } } as never).map(({ name }) => name);
  assertEquals(names("none"), ["mail.example without encryption (tls: none)"]);
  assertEquals([names("required"), names("none", "127.0.0.1")], [["mail.example"], ["127.0.0.1"]]);
  for (const to of ["x,evil@e.c", "x@e.c,evil", "g:a@e.c", "a@e.c;b", '"a"@e.c', "a(b)@e.c"]) {
    const checked = notify.params.safeParse({ mail: { ...mail, to } });
    assertEquals([to, checked.success], [to, false]);
  }
  assert(notify.params.safeParse({ mail: { ...mail, to: ["o'neil+x@e.example", "ü@e.c"] } }).success);
});

Deno.test("notify sends text of the broker to a chat without mentions of everybody and without tags", async () => {
  const taken: string[] = [];
  await using server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    taken.push(await request.text());
    return new Response("");
  });
  const text =
    'A&B <!channel> <https://a.example|https://b.example> <at user_id="all"></at> </ AT> <@all> 1 < 2';
  for (const style of ["slack", "lark", "dingtalk", "wecom"] as const) {
    const url = `http://127.0.0.1:${server.addr.port}`;
    await runStep(undefined, { uses: "notify", given: { text, chat: { url, style } } });
  }
  const [slack = "", lark = "", dingtalk = "", wecom = ""] = taken;
  assertEquals(JSON.parse(slack), {
    text: "A&amp;B &lt;!channel&gt; &lt;https://a.example|https://b.example&gt; " +
      '&lt;at user_id="all"&gt;&lt;/at&gt; &lt;/ AT&gt; &lt;@all&gt; 1 &lt; 2',
  });
  for (const body of [lark, wecom]) {
    assert(!/<[\s/]*at|<@/i.test(body), body);
    assertStringIncludes(body, "1 < 2");
  }
  assertEquals(JSON.parse(dingtalk).at, { isAtAll: false });
  assertEquals(JSON.parse(wecom).text.mentioned_list, []);
});

/** Receives one mail by SMTP and resolves to its text; empty if there was none. `toLogin` answers a login. */
async function takeMail(listener: Deno.TcpListener | Deno.TlsListener, toLogin = "235 ok"): Promise<string> {
  using connection = await listener.accept();
  const say = (line: string) => connection.write(new TextEncoder().encode(`${line}\r\n`));
  await say("220 ready");
  const buffer = new Uint8Array(65_536);
  let inData = false;
  let letter = "";
  for (let count = await connection.read(buffer); count !== null; count = await connection.read(buffer)) {
    const text = new TextDecoder().decode(buffer.subarray(0, count));
    if (inData) {
      letter += text;
      if (!letter.endsWith("\r\n.\r\n")) continue;
      inData = false;
      await say("250 taken");
    } else if (text.startsWith("DATA")) {
      inData = true;
      await say("354 go on");
    } else if (text.startsWith("QUIT")) {
      await say("221 bye");
      break;
    } else await say(text.startsWith("AUTH") ? toLogin : "250 ok");
  }
  return letter;
}

Deno.test("convert-report writes rows in other formats without changing values", async () => {
  using folder = temporaryFolder();
  const rows = [
    { symbol: "00700.HK", price: "350.20", fees: { total: "12.50" }, remark: 'a "b", c|d' },
    { symbol: "00005.HK", price: "0.000000000000000001" },
  ];
  const convert = (given: unknown) =>
    runStep(undefined, { uses: "convert-report", given }, { out: folder.path });
  await convert({ rows, to: "a.csv" });
  await convert({ from: "a.csv", to: "b.jsonl" });
  await convert({ rows, to: "c.md", columns: ["symbol", "fees.total", "remark"], title: "Fills" });
  await convert({ rows: [], to: "d.md", title: "Fills" });
  assertEquals(readTree(folder.path), {
    "d.md": "# Fills\n\nNo rows.\n",
    "a.csv":
      'symbol,price,fees.total,remark\r\n00700.HK,350.20,12.50,"a ""b"", c|d"\r\n00005.HK,0.000000000000000001,,\r\n',
    "b.jsonl": '{"symbol":"00700.HK","price":"350.20","fees.total":"12.50","remark":"a \\"b\\", c|d"}\n' +
      '{"symbol":"00005.HK","price":"0.000000000000000001","fees.total":"","remark":""}\n',
    "c.md":
      '# Fills\n\n| symbol | fees.total | remark |\n| --- | --- | --- |\n| 00700.HK | 12.50 | a "b", c\\|d |\n| 00005.HK |  |  |\n',
  });
});

Deno.test("convert-report rejects a number that would lose digits, and a repeated column", async () => {
  using folder = temporaryFolder();
  const convert = (given: unknown) =>
    runStep(undefined, { uses: "convert-report", given }, { out: folder.path });
  const write = (name: string, text: string) => Deno.writeTextFile(`${folder.path}/${name}`, text);
  await write(
    "fine.jsonl",
    '{"id":"20250815000012345678","a":1.1000000000000000,"b":9007199254740992,"c":1e21}\n',
  );
  await convert({ from: "fine.jsonl", to: "fine.csv" });
  assertStringIncludes(readTree(folder.path)["fine.csv"]!, "20250815000012345678,1.1,9007199254740992,");
  await write("two.csv", 'a,"b\n""c",a\n1,2,3\n');
  await assertRejects(
    () => convert({ from: "two.csv", to: "x.csv" }),
    BrokerError,
    'has the column "a" twice',
  );
  await write("endless.jsonl", `{"id":1${"0".repeat(3_000_000)}1}\n`);
  await assertRejects(
    () => convert({ from: "endless.jsonl", to: "x.csv" }),
    BrokerError,
    "would lose digits",
  );
  for (
    const number of ["9007199254740993", "0.12345678901234567891", "1e400", "1e-400", "-20250815000012345678"]
  ) {
    await write("bad.jsonl", `{"id":${number}}\n`);
    await write("bad.json", `[{"id":${number}}]`);
    for (const from of ["bad.jsonl", "bad.json"]) {
      await assertRejects(
        () => convert({ from, to: "bad.csv" }),
        BrokerError,
        `the number ${number} would lose digits`,
      );
    }
  }
});

Deno.test("convert-report limits columns and cells before it makes the table, and ends when the run is stopped", async () => {
  using folder = temporaryFolder();
  const convert = (given: unknown, signal = new AbortController().signal) =>
    runStep(undefined, { uses: "convert-report", given }, { out: folder.path, signal });
  const refused = async (given: unknown) => (await assertRejects(() => convert(given), BrokerError)).message;
  const write = async (name: string, count: number, line: (at: number) => string) =>
    await Deno.writeTextFile(
      `${folder.path}/${name}`,
      Array.from({ length: count }, (_, at) => line(at)).join(""),
    );
  await write("keys.jsonl", 60_000, (at) => `{"k${at}":1}\n`);
  for (const to of ["a.csv", "a.md"]) {
    assertEquals(
      await refused({ from: "keys.jsonl", to }),
      `Cannot convert "${to}": the rows have more than 1000 different columns: list the columns to write in "columns", or ` +
        "write a .jsonl file",
    );
  }
  assertEquals((await convert({ from: "keys.jsonl", to: "b.jsonl" }) as { rows: number }).rows, 60_000);
  const columns = Array.from({ length: 1_000 }, (_, at) => `k${at}`);
  const cells = "cells, expected at most 10000000: split the rows";
  assertEquals(
    await refused({ from: "keys.jsonl", to: "a.csv", columns }),
    `Cannot convert "a.csv": the table has 60000000 ${cells}`,
  );
  await write("wide.csv", 1_100, () => `${",".repeat(9_999)}\n`);
  assertStringIncludes(await refused({ from: "wide.csv", to: "a.jsonl" }), cells);
  // Empty values count too, because each needs memory.
  await write("empty.json", 1, () => `[${"{},".repeat(5_100_000)}{}]`);
  for (const to of ["a.csv", "a.json"]) {
    assertStringIncludes(await refused({ from: "empty.json", to }), cells);
  }
  await assertRejects(
    () => convert({ rows: [{ a: 1 }], to: "a.csv", columns: [...columns, "k1000"] }),
    RecipeError,
    "at most 1000 in the list",
  );
  // Half a million cells, so the signal is checked before the end.
  await write("long.jsonl", 50_000, (at) => `{"k${at % 10}":1}\n`);
  const stop = new AbortController();
  const stopped = assertRejects(
    () => convert({ from: "long.jsonl", to: "c.csv" }, stop.signal),
    Error,
    "stopped",
  );
  setTimeout(() => stop.abort(new Error("stopped")), 0);
  await stopped;
  assertEquals(Object.keys(readTree(folder.path)).sort(), [
    "b.jsonl",
    "empty.json",
    "keys.jsonl",
    "long.jsonl",
    "wide.csv",
  ]);
});

Deno.test("convert-report lets other work run after each row of large cells, and rejects a row of more than 2,000,000 characters", async () => {
  using folder = temporaryFolder();
  const convert = (from: string, to: string) =>
    runStep(undefined, { uses: "convert-report", given: { from, to } }, { out: folder.path });
  const rows = 20;
  const cell = "x".repeat(1_100_000);
  await Deno.writeTextFile(`${folder.path}/a.jsonl`, `{"cell":"${cell}"}\n`.repeat(rows));
  await Deno.writeTextFile(`${folder.path}/a.csv`, `cell\r\n${`${cell}\r\n`.repeat(rows)}`);
  for (
    const [from, to] of [["a.jsonl", "b.csv"], ["a.jsonl", "b.md"], ["a.jsonl", "b.json"], [
      "a.csv",
      "c.jsonl",
    ]]
  ) {
    let turns = 0;
    const timer = setInterval(() => turns++, 0);
    try {
      await convert(from!, to!);
    } finally {
      clearInterval(timer);
    }
    assert(turns >= rows, `${to}: ${turns} turns`);
  }
  // Control: the JSON file written piece by piece equals one `JSON.stringify` of all rows.
  const whole = JSON.stringify(Array.from({ length: rows }, () => ({ cell })), null, 2);
  assert(Deno.readTextFileSync(`${folder.path}/b.json`) === `${whole}\n`);
  await Deno.writeTextFile(`${folder.path}/d.jsonl`, `{"cell":"${cell}","more":"${cell}"}\n`);
  await assertRejects(
    () => convert("d.jsonl", "d.csv"),
    BrokerError,
    'Cannot convert "d.csv": a row has 2200008 characters, expected at most 2000000',
  );
});

Deno.test("convert-report warns about a column that no row has, and its output is not ok", async () => {
  using folder = temporaryFolder();
  await Deno.writeTextFile(`${folder.path}/a.csv`, "symbol,fees.total\r\n00700.HK,\r\n");
  const noted: Noted = { artifacts: [], logs: [] };
  const convert = (given: unknown) =>
    runStep(undefined, { uses: "convert-report", given }, { out: folder.path }, noted);
  assertEquals(await convert({ from: "a.csv", to: "b.md", columns: ["symbol", "fees.totl"] }), {
    ok: false,
    path: `${folder.path}/b.md`,
    rows: 1,
    missing: ["fees.totl"],
  });
  assertEquals(noted.logs, ['no row has the column "fees.totl"; did you mean "fees.total"?']);
  // Controls: a column that is empty in every row, and a report without rows.
  const sound = { ok: true, missing: [] };
  assertEquals(await convert({ from: "a.csv", to: "c.md", columns: ["fees.total"] }), {
    ...sound,
    path: `${folder.path}/c.md`,
    rows: 1,
  });
  assertEquals(await convert({ rows: [], to: "d.md", columns: ["fees.total"] }), {
    ...sound,
    path: `${folder.path}/d.md`,
    rows: 0,
  });
  assertEquals(noted.logs.length, 1);
});

Deno.test("steps check their parameters again after expressions are evaluated", async () => {
  const given = { markets: ["hk"], from: "${{ params.day }}", to: "${{ daysBefore(slot, 1) }}" };
  const error = await assertRejects(
    () => runStep(undefined, { uses: "export-day-book", given }),
    InvalidParamsError,
  );
  assertEquals(error.issues, [{
    path: ["to"],
    value: "2025-08-14",
    expected: "a date that is not before from",
  }]);
});

Deno.test("steps do not print the value of an invalid secret", async () => {
  const given = { webhook: "${secret:hook}", text: "x" };
  const context = { secret: () => Promise.resolve("hunter2") };
  const error = await assertRejects(
    () => runStep(undefined, { uses: "notify", given }, context),
    InvalidParamsError,
  );
  assertEquals(error.issues.map(({ path, value }) => [path, value]), [[["webhook"], "[secret]"]]);
  assert(!error.message.includes("hunter2") && !Deno.inspect(error).includes("hunter2"));
});

Deno.test("a custom step has only the permissions that it names, and calls only operations that its effect allows", async () => {
  await using broker = await simulated({ at: FRIDAY_MORNING });
  using folder = temporaryFolder();
  const from = JSON.stringify(import.meta.resolve("../../lib/recipes/define.ts"));
  const write = (name: string, text: string) => Deno.writeTextFile(`${folder.path}/${name}`, text);
  await write("secret.txt", "1");
  await write("open.txt", "2");
  await write(
    "my_step.ts",
    `import { defineStep } from ${from};
export default defineStep({
  effect: "read",
  permissions: { read: ["open.txt"] },
  params: { market: { type: "text", default: "hk" }, count: { type: "integer" } },
  async run({ market, count }, { call, slot }) {
    console.log("for people");
    const open = await Deno.readTextFile("open.txt");
    const closed = await Deno.readTextFile("secret.txt").catch((error) => error.name);
    const funds = await call("account.funds", { market });
    const refused = await call("orders.cancelAll", { market }).catch((error) => error.message);
    return { ok: true, open, closed, hasFunds: "totalAssets" in funds, refused, count: count + 1, slot };
  },
});
`,
  );
  await write(
    "recipe.yaml",
    'name: own\nparams: { n: 4 }\nsteps: [{ id: mine, uses: ./my_step.ts, with: { count: "${{ params.n }}" } }]\n',
  );
  const recipe = await loadRecipe(`${folder.path}/recipe.yaml`);
  const [step] = recipe.steps;
  assertEquals([step!.uses, step!.effect, recipe.class], ["./my_step.ts", "read", "read"]);
  assertEquals(
    await step!.run(stepContext(broker, { params: recipe.params, slot: "2025-08-15T02:30:00Z" })),
    {
      ok: true,
      open: "2",
      closed: "NotCapable",
      hasFunds: true,
      refused:
        'Cannot call "orders.cancelAll": it changes something, and the step says that its effect is "read"',
      count: 5,
      slot: "2025-08-15T02:30:00Z",
    },
  );
  await write(
    "wrong.yaml",
    "name: own\nsteps:\n  - { id: a, uses: ./my_step.ts, with: { cuont: 1 } }\n  - { id: b, uses: ./none.ts }\n  - { id: c, uses: ../x.ts }\n",
  );
  const error = await assertRejects(() => loadRecipe(`${folder.path}/wrong.yaml`), RecipeError);
  const messages = error.issues.map(({ line, message }) => `${line}: ${message}`);
  assertEquals(messages.slice(0, 2), [
    "3: steps.0.with.count: expected a whole number",
    '3: steps.0.with.cuont: no such member; did you mean "count"?',
  ]);
  assertStringIncludes(messages[2]!, '4: steps.1.uses: Cannot use step "none.ts": ');
  assertEquals(
    messages[3],
    '5: steps.2.uses: expected a TypeScript file beside the recipe, such as "./my_step.ts"',
  );
});

Deno.test("export-day-book exports the requested accounts, and reports disputed readings of a day", async () => {
  await using broker = await simulated({ fillsPerDay: 150 });
  using folder = temporaryFolder();
  const noted: Noted = { artifacts: [], logs: [] };
  const run = (given: Record<string, unknown>) =>
    runStep(
      broker,
      { uses: "export-day-book", given: { from: "2025-08-15", to: "2025-08-15", ...given } },
      { out: folder.path },
      noted,
    ) as Promise<DayBookResult>;
  const futures = await run({ accounts: ["futures"], out: "futures" });
  assertEquals([futures.ok, Object.keys(futures.days[0]!.rows)], [true, ["futures_fills", "futures_orders"]]);
  const stocks = await run({
    accounts: ["securities"],
    markets: ["hk"],
    out: "stocks",
    wire: true,
    owner: "mine",
  });
  assertEquals([stocks.ok, Object.keys(stocks.days[0]!.rows)], [true, ["fills", "orders", "fund_journal"]]);
  const names = Object.keys(readTree(folder.path));
  assert(names.includes("stocks/2025-08-15/fills.wire.jsonl") && names.includes("stocks/account.json"));
  broker.simulator.faults.arm({ kind: "empty-page", operation: "fills.history" });
  const disputed = await run({ accounts: ["securities"], markets: ["hk"], out: "stocks", wire: true });
  assertEquals([disputed.ok, disputed.days[0]?.action], [false, "disputed"]);
  const beside = noted.artifacts.filter(({ dataset }) => dataset === "day-book-disputed/summary.json");
  assertEquals(beside.map(({ path, final }) => [path, final]), [[
    `${folder.path}/stocks/2025-08-15.disputed-1/summary.json`,
    false,
  ]]);
  await assertRejects(() => run({ accounts: ["securities"], out: "stocks" }), RecipeError, "markets");
  await assertRejects(() => run({ accounts: ["stocks"], markets: ["hk"] }), RecipeError, "accounts");
});

Deno.test("cancel-open-orders uses the state of an order if the broker omits the flag", async () => {
  const row = { stockCode: "00700.HK", entrustBs: "1", exchangeType: "K", queryParamStr: "1" };
  const live = new Map([
    ["7", { ...row, entrustId: "7", status: "2" }],
    ["8", { ...row, entrustId: "8", status: "8", queryParamStr: "2" }],
    ["9", { ...row, entrustId: "9", status: "2", canBeCanceled: 0, queryParamStr: "3" }],
  ]);
  const cancelled: unknown[] = [];
  const endpoint = (path: string, params: Record<string, unknown>) => {
    if (path === "/trade/TradeCancelEntrust") {
      cancelled.push(params.entrustId);
      live.set(String(params.entrustId), { ...row, entrustId: String(params.entrustId), status: "6" });
      return { ok: true, err: "", data: { data: params.entrustId } };
    }
    const isFirst = params.queryParamStr === "0";
    return { ok: true, err: "", data: { data: isFirst ? [...live.values()] : [] } };
  };
  await using client = createClient(memory(endpoint));
  await runStep(
    undefined,
    { uses: "cancel-open-orders", given: { markets: ["hk"] }, write: true },
    { client: () => Promise.resolve(client) },
  ).catch(() => {}); // the step may fail, because order 9 stays open
  assertEquals(cancelled, ["7"]);
});
