/** Tests of commands over the direct transport, with the simulated platform. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { PlatformOptions } from "../../lib/simulator/platform/mod.ts";
import { leaseName, takeLease } from "../../lib/transports/direct/lease.ts";
import { exportPublicKey, publicKeyOf, readPrivateKey } from "../../lib/wire/keys.ts";
import { InterruptedError } from "../../tasks/terminal/exit_codes.ts";
import { startDirectProxy } from "../support/direct_proxy.ts";
import { cli, directEnvOf, folder, simulatePlatform, spawned, start, storeEnv } from "./support.ts";
import { waitUntil } from "../support/waits.ts";

const NOW = "2025-08-16T12:00:00+08:00";
const SATURDAY = Date.parse(NOW);
const ORDER =
  '{"market":"hk","symbol":"00700.HK","quantity":"100","price":"580.00","side":"buy","orderType":"limit"}';

/** A platform, and the environment variables for it. */
async function world(options: Partial<PlatformOptions> = {}) {
  const files = await folder();
  const platform = await simulatePlatform(options);
  const env = directEnvOf(platform.info, files.path);
  return {
    platform,
    out: `${files.path}/out`,
    leases: files.path,
    env,
    /** The same variables with a store, which order writes need. */
    trading: { ...env, ...storeEnv(files) },
    async [Symbol.asyncDispose]() {
      await platform.close();
      await files[Symbol.asyncDispose]();
    },
  };
}

Deno.test("quote reads quotes over the market socket, without the trade connection", async () => {
  await using at = await world();
  const { code, out, err } = await cli(["quote", "00700.HK", "AAPL", "--json"], { env: at.env });
  assertEquals({ code, err }, { code: 0, err: "" });
  const symbols = JSON.parse(out).map(({ security }: { security: { symbol: string } }) => security.symbol);
  assertEquals(symbols, ["00700.HK", "AAPL"]);
  assertEquals(at.platform.state().tradeLogin, "out");
});

Deno.test("--transport also works before the command, and overrides the environment", async () => {
  await using at = await world();
  const { HSGATE_TRANSPORT: _, ...env } = at.env;
  assertEquals((await cli(["--transport", "direct", "quote", "00700.HK"], { env })).code, 0);
  const over = await cli(["--transport=gateway", "--gateway", "http://127.0.0.1:1", "quote", "AAPL"], {
    env: at.env,
  });
  assertEquals(over.code, 4);
  assertStringIncludes(over.err, "http://127.0.0.1:1");
});

Deno.test("tradeServer and hqServer override the platform's answer", async () => {
  await using at = await world();
  const { info } = at.platform;
  // This relay changes the platform's answer: the answer names servers that cannot be reached from here.
  await using server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const response = await fetch(`${info.authUrl}${new URL(request.url).pathname}`, {
      method: "POST",
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body: await request.text(),
    });
    const text = (await response.text()).replace(info.tradeServer, "127.0.0.1:1").replace(
      info.hqServer,
      "127.0.0.1:1",
    );
    return new Response(text);
  });
  const env = { ...at.env, HSGATE_AUTH_URL: `http://127.0.0.1:${server.addr.port}` };
  const trade = { ...env, HSGATE_TRADE_SERVER: info.tradeServer };
  assertEquals((await cli(["call", "account.funds", '{"market":"hk"}'], { env: trade })).code, 0);
  assertEquals((await cli(["quote", "AAPL"], { env: trade })).code, 4); // control: that server is still wrong
  assertEquals(
    (await cli(["quote", "AAPL"], { env: { ...trade, HSGATE_HQ_SERVER: info.hqServer } })).code,
    0,
  );
});

for (const style of ["form", "query"]) {
  Deno.test(`a call with parameterStyle "${style}" sends its parameters in this style, and succeeds`, async () => {
    await using at = await world();
    const queries: string[] = [];
    await using server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
      const { pathname, search } = new URL(request.url);
      queries.push(search);
      return await fetch(`${at.platform.info.authUrl}${pathname}${search}`, {
        method: "POST",
        headers: { "content-type": "application/x-www-form-urlencoded" },
        body: await request.text(),
      });
    });
    const env = { HSGATE_AUTH_URL: `http://127.0.0.1:${server.addr.port}`, HSGATE_PARAMETER_STYLE: style };
    const { code } = await cli(["call", "account.exchangeRates"], { env: { ...at.env, ...env } });
    assertEquals(code, 0);
    assertEquals(queries.some((query) => query.includes("token=")), style === "query");
  });
}

Deno.test("call places an order over the trade socket, and reads it back from all pages", async () => {
  await using at = await world();
  const placed = await cli(["call", "orders.place", ORDER, "--json"], { env: at.trading });
  assertEquals({ code: placed.code, err: placed.err }, { code: 0, err: "" });
  const { orderId } = JSON.parse(placed.out);
  const today = await cli(["call", "orders.today", '{"market":"hk"}', "--all", "--json"], { env: at.env });
  assertEquals(JSON.parse(today.out).map((order: { orderId: string }) => order.orderId), [orderId]);
});

Deno.test("call --dry-run shows the socket message and sends nothing", async () => {
  await using at = await world();
  const { code, out } = await cli(["call", "orders.place", ORDER, "--dry-run", "--json"], { env: at.env });
  assertEquals(code, 0);
  assertEquals(JSON.parse(out), {
    message: "TradeEntrustRequest",
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
  assertEquals(at.platform.state().callsTaken, 0);
});

Deno.test("call asks before a write over the socket, and sends nothing after a no", async () => {
  await using at = await world();
  const { code, err } = await cli(["call", "orders.place", ORDER], { env: at.trading, answer: "n" });
  assertEquals(code, 2);
  assertStringIncludes(err, "It would send TradeEntrustRequest over the trade socket:");
  assertStringIncludes(err, "hsgate: nothing was sent");
  // For the text about the order, call reads the market and the account. It did not send the order itself.
  const today = await cli(["call", "orders.today", '{"market":"hk"}', "--json"], { env: at.env });
  assertEquals(JSON.parse(today.out), []);
});

Deno.test("call ends with 2 for an operation that the socket does not support, says why, and sends nothing", async () => {
  await using at = await world();
  const params = '{"market":"hk","orderIds":["1"]}';
  for (const more of [[], ["--dry-run"]]) {
    const { code, out, err } = await cli(["call", "orders.cancelMany", params, ...more], { env: at.env });
    assertEquals({ code, out }, { code: 2, out: "" });
    assertStringIncludes(
      err,
      "over the direct transport: message definition not published (the gateway supports it)",
    );
    assertStringIncludes(err, "-> Use --transport gateway");
  }
  assertEquals(at.platform.state().callsTaken, 0);
});

Deno.test("call finds the order of a lost answer in the lists, and ends with 5 if the lists do not show it", async () => {
  await using at = await world();
  const place = (price: string, signal?: AbortSignal) =>
    cli(["call", "orders.place", ORDER.replace("580.00", price), "--json"], {
      env: at.trading,
      ...signal && { signal },
    });
  at.platform.faults.arm({ kind: "lost-answer", operation: "orders.place" });
  const found = await place("580.00");
  assertEquals([found.code, at.platform.faults.struck("lost-answer")], [0, 1], found.err);
  const today = async () =>
    JSON.parse((await cli(["call", "orders.today", '{"market":"hk"}', "--json"], { env: at.env })).out);
  assertEquals((await today()).map(({ orderId }: { orderId: string }) => orderId), [
    JSON.parse(found.out).orderId,
  ]);
  at.platform.faults.arm({ kind: "lost-request", operation: "orders.place" });
  const stop = new AbortController();
  const lost = place("579.00", stop.signal);
  await waitUntil("the request to be lost", () => at.platform.faults.struck("lost-request") === 1);
  stop.abort();
  const { code, err } = await lost;
  assertEquals(code, 5);
  assertStringIncludes(err, "The write may have happened. Do not repeat it");
  assertEquals((await today()).length, 1);
});

Deno.test("call at Ctrl-C during a write over the socket ends with 5", async () => {
  await using at = await world();
  at.platform.faults.arm({ kind: "delay", operation: "orders.place", ms: 1500, when: "answer" });
  const process = start(["call", "orders.place", ORDER], { env: at.trading });
  await waitUntil("the delay to strike", () => at.platform.faults.struck("delay") !== 0);
  process.kill("SIGINT");
  const { code, stdout, stderr } = await process.output();
  assertEquals({ code, out: stdout.length }, { code: 5, out: 0 });
  assertStringIncludes(
    new TextDecoder().decode(stderr),
    'Do not repeat it: first run "hsgate call orders.today --all"',
  );
});

Deno.test("call ends with 6 without a trade password, and says that it needs no key", async () => {
  await using at = await world();
  const { HSGATE_TRADE_PASSWORD: _, ...env } = at.env;
  const { code, err } = await cli(["call", "account.funds", '{"market":"hk"}'], { env });
  assertEquals(code, 6);
  assertStringIncludes(err, "-> Set HSGATE_TRADE_PASSWORD; over the direct transport it needs no key");
});

Deno.test("call ends with 4 when the platform cannot be reached, and recommends doctor", async () => {
  await using at = await world();
  const env = { ...at.env, HSGATE_AUTH_URL: "http://127.0.0.1:1" };
  const { code, err } = await cli(["call", "account.funds", '{"market":"hk"}'], { env });
  assertEquals(code, 4);
  assertStringIncludes(err, "doctor --transport direct");
});

Deno.test("login checks the password, says that the login lasts as long as the connection, and needs no logout", async () => {
  await using at = await world();
  const good = await cli(["login"], { env: at.env });
  assertEquals([good.code, good.out], [0, "logged in for trading\n"]);
  assertStringIncludes(good.err, "the login ended with this command's connection");
  const wrong = await cli(["login"], { env: { ...at.env, HSGATE_TRADE_PASSWORD: "999999" } });
  assertEquals([wrong.code, wrong.out, wrong.err.includes("999999")], [6, "", false]);
  const out = await cli(["login", "--logout"], { env: at.env });
  assertEquals(out.code, 2);
  assertStringIncludes(out.err, "ends with it, so there is no login to end");
});

Deno.test("watch shows quotes and order changes, has the lease in the meantime, and releases it", async () => {
  await using at = await world({ pushIntervalMs: 50 });
  const controller = new AbortController();
  const signal = AbortSignal.any([controller.signal, AbortSignal.timeout(20_000)]);
  let others: Promise<void> | undefined;
  const ask = async () => {
    const held = await cli(["lease", "--json"], { env: at.env });
    const [holder] = JSON.parse(held.out);
    assertEquals([holder.pid, holder.program], [Deno.pid, "hsgate watch"]);
    const second = await cli(["quote", "AAPL"], { env: at.env });
    assertEquals(second.code, 4);
    assertStringIncludes(second.err, '("hsgate watch") has used it since ');
    assertStringIncludes(second.err, "Close that program first");
    controller.abort(new InterruptedError("interrupted"));
  };
  const { code, out, err } = await cli(["watch", "00700.HK", "--json"], {
    env: at.env,
    signal,
    onLine: (line) => {
      if (JSON.parse(line).type === "quote") others ??= ask();
    },
  });
  await others;
  assertEquals({ code, err }, { code: 130, err: "hsgate: interrupted\n" });
  const quote = out.trimEnd().split("\n").map((line) => JSON.parse(line)).find(({ type }) =>
    type === "quote"
  );
  assertEquals(quote.data.security, { type: "hk-stock", symbol: "00700.HK" });
  const free = await cli(["lease"], { env: at.env });
  assertEquals(free.out, "no process on this machine has a trade connection\n");
});

Deno.test("commands do not log in while another process has the trade connection", async () => {
  await using at = await world();
  await using proxy = startDirectProxy(at.platform.info);
  const env = { ...at.env, HSGATE_AUTH_URL: proxy.info.authUrl };
  const key = publicKeyOf(readPrivateKey(at.platform.info.developerPrivateKey));
  const name = await leaseName(exportPublicKey(key));
  {
    await using _lease = await takeLease({ folder: at.leases, name, program: "a strategy", now: 0 });
    const commands = [["quote", "AAPL"], ["call", "account.exchangeRates"], ["login"], ["watch", "AAPL"]];
    for (const words of commands) {
      const { code, err } = await cli(words, { env });
      assertEquals(code, 4, words.join(" "));
      assertStringIncludes(err, '("a strategy") has used it since 1970-01-01T00:00:00.000Z');
    }
    assertEquals(proxy.posted, []);
  }
  assertEquals((await cli(["quote", "AAPL"], { env })).code, 0); // control: free again
});

Deno.test("export day-book and run write the day book over the trade socket", async () => {
  const { ManualClock } = await import("../../lib/time.ts");
  await using at = await world({ clock: new ManualClock(SATURDAY), fillsPerDay: 4, days: 20 });
  const words = ["export", "day-book", "--markets", "hk,us", "--from", "2025-08-14", "--to", "2025-08-15"];
  const exported = await cli([...words, "--out", at.out, "--now", NOW, "--json"], { env: at.env });
  assertEquals({ code: exported.code, err: exported.err }, { code: 0, err: "" });
  const result = JSON.parse(exported.out);
  assertEquals([result.ok, result.days.length, result.days[1].markets.us.rows.fills], [true, 2, 4]);
  const ran = await cli(["run", "r.yaml", "--out", at.out, "--now", NOW, "--json"], {
    env: at.env,
    files: { "r.yaml": "name: r\nsteps:\n  - id: a\n    uses: account.funds\n    with: { market: hk }\n" },
  });
  assertEquals({ code: ran.code, steps: JSON.parse(ran.out).steps.length }, { code: 0, steps: 1 });
});

Deno.test("other processes can use the platform through sim's --info file", async () => {
  await using files = await folder();
  const info = `${files.path}/sim.json`;
  const ports = ["--http-port", "0", "--push-port", "0"];
  const sim = start(["sim", ...ports, "--info", info, "--json"]);
  const reader = sim.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const { mobile, loginPassword, tradePassword } = JSON.parse((await reader.read()).value ?? "");
  const env = { HSGATE_LEASE_FOLDER: files.path };
  const direct = ["--config", info, "--transport", "direct"];
  const quote = await spawned([...direct, "quote", "00700.HK", "--json"], { env });
  assertEquals({ code: quote.code, err: quote.err }, { code: 0, err: "" });
  assertEquals(JSON.parse(quote.out)[0].security.symbol, "00700.HK");
  const doctor = await spawned([...direct, "doctor"], { env });
  assertEquals(doctor.code, 0);
  // The simulator's clock is in 2025, and its file names no account, so doctor warns about both.
  assertStringIncludes(doctor.out, "No check failed. Look at the warnings about: clock, order pushes.");
  for (const secret of [mobile, loginPassword, tradePassword]) assert(!doctor.out.includes(secret));
  sim.kill("SIGINT");
  while (!(await reader.read()).done) { /* to its end */ }
  await sim.status;
  await sim.stderr.cancel();
});

Deno.test("commands that fail print no secret of the direct transport", async () => {
  await using at = await world();
  const { info } = at.platform;
  const outcomes = [
    await cli(["call", "account.funds", '{"market":"hk"}'], {
      env: { ...at.env, HSGATE_AUTH_URL: "http://127.0.0.1:1", HSGATE_PARAMETER_STYLE: "query" },
    }),
    await cli(["login"], { env: { ...at.env, HSGATE_COUNTRY_CODE: "HKG" } }),
    await cli(["quote", "AAPL"], { env: { ...at.env, HSGATE_DEVELOPER_PRIVATE_KEY: info.loginPassword } }),
    await cli(["quote", "AAPL", "--mobile", info.mobile], { env: at.env }),
    await cli(["quote", "AAPL", `--login-password=${info.loginPassword}`], { env: at.env }),
    await cli(["quote", "AAPL"], {
      env: { ...at.env, HSGATE_AUTH_URL: `http://me:${info.loginPassword}@x` },
    }),
  ];
  assertEquals(outcomes.map(({ code }) => code), [4, 6, 2, 2, 2, 2]);
  const written = outcomes.map(({ out, err }) => out + err).join("");
  for (const secret of [info.mobile, info.loginPassword, info.tradePassword]) {
    assertEquals(written.includes(secret), false);
  }
  assertStringIncludes(outcomes[2]!.err, '-> "hsgate keys check FILE"');
});

Deno.test("operations shows which transports support each operation, and why one does not", async () => {
  const list = await cli(["operations", "--json"]);
  const rows: { name: string; transports: string[] }[] = JSON.parse(list.out);
  const over = (name: string) => rows.find((row) => row.name === name)?.transports;
  assertEquals(over("orders.place"), ["gateway", "direct"]);
  assertEquals(over("orders.cancelMany"), ["gateway"]);
  assertEquals(over("account.keepLogin"), ["direct"]);
  const one = await cli(["operations", "orders.cancelMany"]);
  assertStringIncludes(
    one.out,
    "transports       gateway\nnot over direct  message definition not published\n",
  );
  const direct = await cli(["operations", "--transport", "direct", "--json"]);
  assertEquals(
    JSON.parse(direct.out).some(({ name }: { name: string }) => name === "orders.cancelMany"),
    false,
  );
});
