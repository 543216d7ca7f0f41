import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { cli, envOf, folder, KEY, PASSWORD, simulate, spawned, start, storeEnv } from "./support.ts";
import { record } from "../conformance/recorder.ts";
import { waitUntil } from "../support/waits.ts";

const order = {
  market: "hk",
  symbol: "00700.HK",
  quantity: "100",
  price: "580.00",
  side: "buy",
  orderType: "limit",
};
const one = '{"market":"hk","from":"2025-08-14","to":"2025-08-14","limit":2}';
const orderJson = JSON.stringify(order);

Deno.test("call prints one line of JSON with --json and indents it without", async () => {
  await using gateway = await simulate();
  const env = envOf(gateway);
  const line = await cli(["call", "account.funds", '{"market":"hk"}', "--json"], { env });
  assertEquals(line.out.trimEnd().includes("\n"), false);
  assert(/^\d+\.\d\d$/.test(JSON.parse(line.out).totalAssets));
  const pretty = await cli(["call", "account.funds", '{"market":"hk"}'], { env });
  assertEquals(JSON.parse(pretty.out), JSON.parse(line.out));
  assertStringIncludes(pretty.out, '\n  "totalAssets"');
});

Deno.test("call reads parameters from stdin and from a file, in hsgate's spelling and in the broker's", async () => {
  await using gateway = await simulate();
  const env = envOf(gateway);
  const stdin = await cli(["call", "TradeQueryMarginFundInfo", "-", "--json"], {
    env,
    stdin: '{"exchangeType":"K"}',
  });
  const file = await cli(["call", "account.funds", "@p.json", "--json"], {
    env,
    files: { "p.json": '{"market":"hk"}' },
  });
  const path = await cli(["call", "/trade/TradeQueryMarginFundInfoRequest", '{"market":"hk"}', "--json"], {
    env,
  });
  assertEquals([stdin.code, file.code, path.code], [0, 0, 0]);
  assertEquals(JSON.parse(stdin.out), JSON.parse(file.out));
  assertEquals(JSON.parse(path.out), JSON.parse(file.out));
});

Deno.test("call reads all pages with --all, and without it notes that there may be more", async () => {
  await using gateway = await simulate({ fillsPerDay: 40 });
  const env = envOf(gateway);
  const params = '{"market":"hk","from":"2025-08-11","to":"2025-08-14"}';
  const one = await cli(["call", "fills.history", params, "--json"], { env });
  assertEquals(JSON.parse(one.out).length, 20);
  assertStringIncludes(one.err, "this is one page and there may be more; --all reads all pages");
  const all = await cli(["call", "fills.history", params, "--json", "--all"], { env });
  assertEquals({ rows: JSON.parse(all.out).length, err: all.err }, { rows: 160, err: "" });
  const wire = await cli(["call", "fills.history", params, "--json", "--all", "--wire"], { env });
  assertEquals(JSON.parse(wire.out).data.length, 160);
  const pages = await cli([
    "call",
    "futures.fillsHistory",
    '{"from":"2025-08-11","to":"2025-08-14"}',
    "--all",
    "--wire",
  ], { env });
  assertEquals(typeof JSON.parse(pages.out).data[0].businessPrice, "string");
});

Deno.test("call shows rows as a table that fits the terminal", async () => {
  await using gateway = await simulate();
  const env = envOf(gateway);
  const { out, err } = await cli([
    "call",
    "fills.history",
    one,
  ], {
    env,
    columns: 80,
  });
  const lines = out.trimEnd().split("\n");
  assertEquals(lines.length, 4, out + err);
  assert(/^symbol +date +side +quantity .* orderId$/.test(lines[0]!), lines[0]);
  for (const line of lines.slice(0, 3)) assert(line.length <= 80);
  assert(
    /^\(omitted: fillPrice, .*, fees; --columns selects columns, --json prints all\)$/.test(lines[3]!),
    lines[3],
  );
  // Values that the next command needs are not cut at any width.
  const json = JSON.parse((await cli(["call", "fills.history", one, "--json"], { env })).out);
  const narrow = await cli(["call", "fills.history", one], { env, columns: 20 });
  for (const { symbol, orderId } of json) {
    assert(new RegExp(`^${symbol} +${orderId}$`, "m").test(narrow.out), narrow.out);
  }
});

Deno.test("call --columns shows the named members without cutting them, and rejects unknown ones before the call", async () => {
  await using gateway = await simulate({ fillsPerDay: 3 });
  const env = envOf(gateway);
  const columns = async (list: string, ...more: string[]) =>
    await cli(["call", "fills.history", one, "--columns", list, ...more], { env, columns: 30 });
  const { out } = await columns("orderId,fees.total,cursor,fees");
  const [header, row = ""] = out.split("\n");
  assertEquals(header!.split(/ +/), ["orderId", "fees.total", "cursor", "fees"]);
  assert(/^\d{13} +\d+\.\d\d +\d+ +\{"commission":.*\}$/.test(row.trim()), row);
  const wire = await columns("entrustId,fareVo.faret", "--wire");
  assert(/^entrustId +fareVo\.faret\n\d{13} +\d+\.\d\d\n/.test(wire.out), wire.out);
  // Without a terminal the output is a table too, because the user asked for columns.
  const piped = await cli(
    ["call", "account.funds", '{"market":"hk"}', "--columns", "available,totalAssets"],
    { env },
  );
  assert(/^available +\d+\.\d\d\ntotalAssets +\d+\.\d\d\n$/.test(piped.out), piped.out);
  // --columns accepts only members of the answer itself. For a list inside the answer, the hint names only --json.
  const inner = await cli(["call", "futures.holdings"], { env, columns: 60 });
  assert(
    /\n\(omitted: .*; --json prints all\)\n$/.test(inner.out) && !inner.out.includes("--columns"),
    inner.out,
  );
  const asked = gateway.state().callsTaken;
  for (
    const [words, reason] of [
      [["--columns", "orderld"], 'Cannot show column "orderld": expected one of '],
      [["--columns", "orderld"], 'did you mean "orderId"?'],
      [["--columns", "orderId", "--json"], "Cannot use --columns with --json: JSON contains every member"],
    ] as const
  ) {
    const refused = await cli(["call", "fills.history", one, ...words], { env, columns: 80 });
    assertEquals([refused.code, refused.out.startsWith('{"error":')], [2, words.length > 2]);
    assertStringIncludes(refused.err, reason);
  }
  assertEquals(gateway.state().callsTaken, asked);
});

Deno.test("call --dry-run shows what would be sent and sends nothing", async () => {
  const { code, out, err } = await cli(["call", "orders.place", orderJson, "--dry-run", "--json"]);
  assertEquals({ code, err }, { code: 0, err: "" });
  assertEquals(JSON.parse(out), {
    path: "/trade/TradeEntrust",
    params: {
      exchangeType: "K",
      stockCode: "00700.HK",
      entrustAmount: "100",
      entrustPrice: "580.00",
      entrustBs: "1",
      entrustType: "3",
      clientType: 0,
    },
  });
});

Deno.test("call shows a write and asks before sending it, and sends nothing after a no", async () => {
  await using gateway = await simulate();
  await using files = await folder();
  const env = { ...envOf(gateway), ...storeEnv(files) };
  const no = await cli(["call", "orders.place", orderJson], { env, answer: "" });
  assertEquals({ code: no.code, out: no.out }, { code: 2, out: "" });
  assertStringIncludes(no.err, "This call changes the account. It would send to /trade/TradeEntrust:");
  assertStringIncludes(no.err, '"entrustAmount": "100"');
  assertStringIncludes(no.err, "hsgate: nothing was sent");
  const none = await cli(["call", "orders.today", '{"market":"hk"}', "--json"], { env, answer: "no" });
  assertEquals(JSON.parse(none.out), []);
  const yes = await cli(["call", "orders.place", orderJson, "--json"], { env, answer: "y" });
  assertEquals(typeof JSON.parse(yes.out).orderId, "string");
  const unasked = await cli(["call", "orders.place", orderJson, "--json", "--yes"], { env, answer: "n" });
  assertEquals(typeof JSON.parse(unasked.out).orderId, "string");
});

Deno.test("call ends with 3 when the broker rejects the request, and keeps the broker's text", async () => {
  await using gateway = await simulate();
  await using files = await folder();
  const { code, out, err } = await cli([
    "call",
    "orders.cancel",
    '{"market":"hk","symbol":"00700.HK","orderId":"99"}',
  ], {
    env: { ...envOf(gateway), ...storeEnv(files) },
  });
  assertEquals({ code, out }, { code: 3, out: "" });
  assertStringIncludes(err, "hsgate: Cannot complete orders.cancel: ");
});

Deno.test("call ends with 4 when no program listens, and says what to check", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  listener.close();
  const { code, out, err } = await cli([
    "call",
    "account.funds",
    '{"market":"hk"}',
    "--gateway",
    `http://127.0.0.1:${port}`,
  ]);
  assertEquals({ code, out }, { code: 4, out: "" });
  assertStringIncludes(err, '"hsgate doctor" looks for it');
});

Deno.test("call ends with 5 when a write gets no answer, sends it only once, and says to check the orders first", async () => {
  await using gateway = await simulate();
  await using files = await folder();
  await using recorder = record(gateway.info.gatewayUrl);
  const env = { ...envOf(gateway), HSGATE_GATEWAY_URL: recorder.url, ...storeEnv(files) };
  gateway.faults.arm({ kind: "delay", operation: "orders.place", ms: 5000, when: "answer" });
  // The limit also applies to the login before the order, and a busy machine answers the login late.
  const called = cli(["call", "orders.place", orderJson, "--timeout", "2.5"], { env });
  await waitUntil("the broker to have the order", () => gateway.faults.struck("delay") === 1);
  // The order desk cannot find the order, because the list cannot be read.
  gateway.faults.arm({ kind: "busy", operation: "orders.today", times: 200 });
  const { code, out, err } = await called;
  gateway.faults.clear();
  assertEquals({ code, out }, { code: 5, out: "" });
  assertStringIncludes(err, 'Do not repeat it: first run "hsgate call orders.today --all"');
  // The broker has received the order, once.
  const today = await cli(["call", "orders.today", '{"market":"hk"}', "--json"], { env: envOf(gateway) });
  assertEquals(JSON.parse(today.out).length, 1);
  const placed: string[] = [];
  await waitUntil("the recorder to have recorded the order", () => {
    placed.push(...recorder.take().map(({ path }) => path).filter((path) => path === "/trade/TradeEntrust"));
    return placed.length > 0;
  });
  assertEquals(placed.length, 1);
});

Deno.test("call ends with 6 without a login, and says how to log in", async () => {
  await using gateway = await simulate();
  const { code, out, err } = await cli(["call", "account.funds", '{"market":"hk"}'], {
    env: { HSGATE_GATEWAY_URL: gateway.info.gatewayUrl },
  });
  assertEquals({ code, out }, { code: 6, out: "" });
  assertStringIncludes(err, "Set HSGATE_TRADE_PASSWORD and HSGATE_TRADE_PASSWORD_KEY");
});

Deno.test("quote ends with 130 when it is interrupted", async () => {
  await using gateway = await simulate();
  gateway.faults.arm({ kind: "delay", operation: "quotes.latest", ms: 9_000, when: "request" });
  const interruptWhen = () => gateway.faults.struck("delay") === 1;
  const { code, out, err } = await spawned(["quote", "00700.HK"], { env: envOf(gateway), interruptWhen });
  assertEquals({ code, out, err }, { code: 130, out: "", err: "hsgate: interrupted\n" });
});

Deno.test("login logs in with the settings' password, and --logout ends the login", async () => {
  await using gateway = await simulate();
  const env = envOf(gateway);
  const login = await cli(["login"], { env });
  assertEquals(login, { code: 0, out: "logged in for trading\n", err: "" });
  assertEquals(gateway.state().tradeLogin, "in");
  const logout = await cli(["login", "--logout", "--json"], { env });
  assertEquals(logout, { code: 0, out: '{"loggedIn":false}\n', err: "" });
  assertEquals(gateway.state().tradeLogin, "out");
});

Deno.test("login ends with 6 without a password and with a wrong one", async () => {
  await using gateway = await simulate();
  const url = gateway.info.gatewayUrl;
  const none = await cli(["login"], { env: { HSGATE_GATEWAY_URL: url } });
  assertEquals(none.code, 6);
  assertStringIncludes(none.err, "Cannot log in: no trade password was given");
  const wrong = await cli(["login"], { env: { ...envOf(gateway), HSGATE_TRADE_PASSWORD: "999999" } });
  assertEquals(wrong.code, 6);
  assertStringIncludes(wrong.err, "Check the trade password and its key");
  assertEquals(`${none.err}${wrong.err}`.includes("999999"), false);
});

const secretLines: [string, string[]][] = [
  ["a flag", ["login", "--password", PASSWORD]],
  ["a flag with its value attached", ["login", `--trade-password=${PASSWORD}`]],
  ["a key as a flag", ["login", `--key=${KEY}`]],
  ["a parameter in our spelling", ["call", "account.login", `{"password":"${PASSWORD}"}`]],
  ["a parameter in the broker's spelling", ["call", "TradeLogin", `{"password":"${PASSWORD}"}`]],
  ["a parameter in incomplete JSON", ["call", "TradeLogin", `{"password":"${PASSWORD}`]],
];
for (const [what, words] of secretLines) {
  Deno.test(`hsgate rejects a secret on the command line and does not print it: ${what}`, async () => {
    const { code, out, err } = await cli(words);
    assertEquals({ code, out }, { code: 2, out: "" });
    assertEquals([PASSWORD, KEY].some((secret) => err.includes(secret)), false);
  });
}

Deno.test("doctor and call print no secret, whether they succeed or fail", async () => {
  await using gateway = await simulate();
  const env = envOf(gateway);
  const wrongKey = { ...env, HSGATE_TRADE_PASSWORD_KEY: "ZmVkY2JhOTg3NjU0MzIxMA==" };
  const outcomes = [
    await cli(["doctor"], { env }),
    await cli(["doctor", "--json"], { env }),
    await cli(["doctor"], { env: wrongKey }),
    await cli(["call", "account.login"], { env: wrongKey }),
    await cli(["call", "account.login", "-"], { env, stdin: `{"pasword":"${PASSWORD}"}` }),
    await cli(["call", "account.login", "-", "--dry-run"], { env, stdin: `{"password":"${PASSWORD}"}` }),
    await cli(["call", "account.login"], { env: { ...env, HSGATE_GATEWAY_URL: "http://127.0.0.1:1" } }),
  ];
  for (const { out, err } of outcomes) {
    for (const secret of [PASSWORD, KEY, "ZmVkY2JhOTg3NjU0MzIxMA=="]) {
      assertEquals(`${out}${err}`.includes(secret), false, `${out}${err}`);
    }
  }
});

Deno.test("quote infers kinds of securities and aligns its columns", async () => {
  await using gateway = await simulate();
  const env = envOf(gateway);
  const { code, out } = await cli(["quote", "00700.HK", "hsi2508.hk", "AAPL", "AAPL"], { env, columns: 80 });
  assertEquals(code, 0);
  const lines = out.trimEnd().split("\n");
  assertEquals(lines.map((line) => line.split(/ +/)[0]), [
    "symbol",
    "00700.HK",
    "HSI2508.HK",
    "AAPL",
    "(omitted:",
  ]);
  assertStringIncludes(lines[0]!, "bid       ask  time (HKT)");
  lines.pop();
  const ends = lines.map((line) => /^\S+ +\S+/.exec(line)![0].length);
  assertEquals(new Set(ends).size, 1);
  const json = await cli(["quote", "00700.HK", "--json"], { env });
  assertEquals(JSON.parse(json.out)[0].security, { type: "hk-stock", symbol: "00700.HK" });
});

Deno.test("hsgate keeps control characters of an answer off the terminal", async () => {
  const answer = {
    ok: true,
    err: "",
    data: { holdsList: [{ stockCode: "X\x1b[2J\x07", stockName: "騰訊控股", currentAmount: "5" }] },
  };
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    () => Response.json(answer),
  );
  const { out } = await cli([
    "call",
    "account.holdings",
    '{"market":"hk"}',
    "--gateway",
    `http://127.0.0.1:${server.addr.port}`,
  ], {
    columns: 80,
  });
  assertEquals(out, "symbol  quantity  name\nX [2J          5  騰訊控股\n");
});

Deno.test("call at Ctrl-C during a write ends with 5, because the outcome is unknown", async () => {
  await using gateway = await simulate();
  await using files = await folder();
  const login = await cli(["login"], { env: envOf(gateway) });
  assertEquals(login.code, 0);
  gateway.faults.arm({ kind: "delay", operation: "orders.place", ms: 1500, when: "answer" });
  const process = start(["call", "orders.place", orderJson], {
    env: { HSGATE_GATEWAY_URL: gateway.info.gatewayUrl, ...storeEnv(files) },
  });
  await waitUntil("the delay to strike", () => gateway.faults.struck("delay") === 1);
  process.kill("SIGINT");
  const { code, stdout, stderr } = await process.output();
  assertEquals({ code, out: stdout.length }, { code: 5, out: 0 });
  assertStringIncludes(
    new TextDecoder().decode(stderr),
    'Do not repeat it: first run "hsgate call orders.today --all"',
  );
});

Deno.test("call reports unknown members, and shows them with --wire without rounding", async () => {
  const data = '{"assetBalance":"1.00","bonus":12345678901234567890.50,"tier":{"level":3}}';
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    () => new Response(`{"ok":true,"err":"","data":${data}}`),
  );
  const env = { HSGATE_GATEWAY_URL: `http://127.0.0.1:${server.addr.port}` };
  const words = ["call", "account.funds", '{"market":"hk"}', "--json"];
  try {
    const ours = await cli(words, { env });
    assertEquals(JSON.parse(ours.out), { totalAssets: "1.00" });
    assertEquals(
      ours.err,
      "hsgate: the answer has 2 members that this version does not know: bonus, tier; " +
        "--wire shows everything that the broker sent\n",
    );
    const wire = await cli([...words, "--wire"], { env });
    assertEquals(wire.out.trim(), data);
    assertEquals(wire.err, "hsgate: the answer has 2 members that this version does not know: bonus, tier\n");
  } finally {
    await server.shutdown();
  }
  // Control: the simulator sends no unknown members.
  await using gateway = await simulate();
  const { code, err } = await cli(words, { env: envOf(gateway) });
  assertEquals([code, err], [0, ""]);
});

Deno.test("call warns of an answer without a list, for single lists and for pages", async () => {
  let data: unknown = {};
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    () => Response.json({ ok: true, err: "", data }),
  );
  const env = { HSGATE_GATEWAY_URL: `http://127.0.0.1:${server.addr.port}` };
  const calls = [["account.holdings", '{"market":"hk"}'], ["futures.fillsToday"], [
    "orders.today",
    '{"market":"hk"}',
    "--all",
  ], ["orders.today", '{"market":"hk"}']];
  for (const words of calls) {
    data = {};
    const left = await cli(["call", ...words, "--json"], { env });
    assertEquals([left.code, left.out.trim()], [0, "[]"], words.join(" "));
    assertStringIncludes(left.err, "the answer contains no list");
    // Control: an empty list.
    data = words[0] === "account.holdings" ? { holdsList: [] } : { data: [] };
    const empty = await cli(["call", ...words, "--json"], { env });
    assertEquals([empty.code, empty.out.trim(), empty.err], [0, "[]", ""], words.join(" "));
    data = { code: 500, message: "internal error" };
    assertEquals((await cli(["call", ...words, "--json"], { env })).code, 1);
  }
});
