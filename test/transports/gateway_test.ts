import { gzipSync } from "node:zlib";
import { assert, assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import {
  BrokerError,
  BusyError,
  type Client,
  DisplacedError,
  gateway,
  InvalidParamsError,
  LoginExpiredError,
  MarketClosedError,
  OutcomeUnknownError,
  ProtocolError,
  RejectedError,
  TransportError,
  UnmappedError,
} from "../../mod.ts";
import { connect } from "../../lib/client/connect.ts";
import { GATEWAY_URL } from "../../lib/transports/gateway.ts";
import { readText, TooLargeError } from "../../lib/transports/net/post_once.ts";
import { account } from "../../lib/operations/account.ts";
import { type Arrived, farEnd, json, ok, type Reaction, refused } from "../support/far_end.ts";
import { waitUntil } from "../support/waits.ts";

const order = {
  market: "hk",
  symbol: "00700.HK",
  quantity: "100",
  price: "350.20",
  side: "buy",
  orderType: "limit",
} as const;

/** Runs a test with a client of a server. Retries are immediate, so that tests do not wait. */
async function withClient(
  react: (request: Arrived, index: number) => Reaction | Promise<Reaction>,
  test: (client: Client, arrived: Arrived[]) => Promise<void>,
  options: { timeoutMs?: number; maxAnswerBytes?: number } = {},
): Promise<void> {
  await using end = farEnd(react);
  await using client = await connect({
    gateway: { url: end.url, ...options },
    retry: { attempts: 3, waitMs: 1 },
  });
  await test(client, end.arrived);
}

Deno.test("gateway() posts the envelope with the broker's spelling", async () => {
  await withClient(() => ok({ data: "1234567" }), async (client, arrived) => {
    assertEquals(await client.orders.place(order, { timeoutMs: 5_500 }), { orderId: "1234567" });
    assertEquals(arrived.length, 1);
    assertStringIncludes(arrived[0]!.head, "POST /trade/TradeEntrust HTTP/1.1");
    assertStringIncludes(arrived[0]!.head.toLowerCase(), "content-type: application/json");
    assertEquals(arrived[0]!.body, {
      timeout_sec: 5,
      params: {
        exchangeType: "K",
        stockCode: "00700.HK",
        entrustAmount: "100",
        entrustPrice: "350.20",
        entrustBs: "1",
        entrustType: "3",
        clientType: 0,
      },
    });
  });
});

Deno.test("gateway() repeats no password of an address that it rejects", () => {
  for (
    const options of [
      { url: "http://me:hunter2-pass@127.0.0.1:99999" },
      { url: "https://me:hunter2-pass@127.0.0.1:11111" },
      { url: "https://127.0.0.1:11111/?token=hunter2-pass" },
      { url: GATEWAY_URL, push: "tcp://me:hunter2-pass@127.0.0.1:999999" },
    ]
  ) {
    const error = assertThrows(() => gateway(options), TypeError);
    assertStringIncludes(error.message, 'Cannot read a text with "@" or "?" as ');
    assert(!Deno.inspect(error).includes("hunter2"), error.message);
  }
  const { message } = assertThrows(() => gateway({ url: "127.0.0.1:11111" }), TypeError);
  assertStringIncludes(message, 'Cannot read "127.0.0.1:11111" as the gateway\'s address');
});

Deno.test("gateway() sends nothing when a parameter is wrong, and lists every issue", async () => {
  await withClient(() => ok({}), async (client, arrived) => {
    const wrong = { ...order, quantity: "0", side: "hold", limit: 5 } as unknown as typeof order;
    const error = await assertRejects(() => client.orders.place(wrong), InvalidParamsError);
    assertEquals(error.issues.map(({ path }) => path.join(".")).sort(), ["limit", "quantity", "side"]);
    assertEquals(arrived.length, 0);
  });
});

Deno.test("numbers that a double cannot represent keep every digit", async () => {
  const body = '{"ok":true,"err":"","data":{"basicQot":[{"security":{"dataType":10000,"code":"00700.HK"},' +
    '"lastPrice":350.2,"volume":9223372036854775807}]}}';
  await withClient(() => json(body), async (client) => {
    const [quote] = await client.quotes.latest({ securities: [{ type: "hk-stock", symbol: "00700.HK" }] });
    assertEquals(quote?.volume, "9223372036854775807");
    assertEquals(quote?.lastPrice, "350.2");
  });
});

Deno.test("an amount that is written as a JSON number keeps every digit", async () => {
  const literals = [
    "1234567890123456789.123456789",
    "0.10",
    "300.00",
    "1e-330",
    "9007199254740990.6",
    "4503599627370497.25",
    "100.00000000000000001",
    "-0.000000000000000000000000001",
  ];
  for (const literal of literals) {
    const body = `{"ok":true,"err":"","data":{"assetBalance":${literal}}}`;
    await withClient(() => json(body), async (client) => {
      assertEquals((await client.account.funds({ market: "hk" })).totalAssets, literal);
    });
  }
});

Deno.test("a write whose answer is lost is sent once and has an unknown outcome; a read is tried three times", async () => {
  const ends: [string, Reaction][] = [
    ["connection-lost", "hang-up"],
    ["http-503", json("busy", "503 Service Unavailable")],
    ["not-json", json("<html>")],
    ["not-an-envelope", json("[]")],
    ["unexpected-shape", ok({ something: "else" })],
    ["1011", refused("1011 busy, retry later")],
    ["1015", refused("1015")],
  ];
  for (const [code, reaction] of ends) {
    await withClient(() => reaction, async (client, arrived) => {
      const error = await assertRejects(() => client.orders.place(order), OutcomeUnknownError);
      assertEquals([code, error.code], [code, code]);
      assertStringIncludes(error.message, "orders");
      assertEquals([code, arrived.length], [code, 1]);
    });
  }
  // Control: with the same server, a read is retried. So the count above is meaningful.
  for (
    const [code, reaction, tries] of [["connection-lost", "hang-up", 3], ["1011", refused("1011 busy"), 3], [
      "not-json",
      json("<html>"),
      1,
    ]] as const
  ) {
    await withClient(() => reaction, async (client, arrived) => {
      const class_ = code === "not-json" ? ProtocolError : code === "1011" ? BusyError : TransportError;
      const error = await assertRejects(() => client.account.funds({ market: "hk" }), class_);
      assertEquals([error.code, arrived.length], [code, tries]);
    });
  }
});

Deno.test("a write after reads is sent once, although fetch would send it again", async () => {
  const reactAfter = (answers: number) => (_: Arrived, index: number): Reaction =>
    index < answers ? ok({ enableBalance: "5" }) : "hang-up";
  await withClient(reactAfter(2), async (client, arrived) => {
    await client.account.funds({ market: "hk" });
    await client.account.funds({ market: "hk" });
    await assertRejects(() => client.orders.place(order), OutcomeUnknownError);
    assertEquals(arrived.length, 3);
  });
  // Control: `fetch` repeats such a request, which is why writes do not use it.
  await using end = farEnd(reactAfter(1));
  const post = () =>
    fetch(`${end.url}/trade/TradeEntrust`, { method: "POST", body: "{}" }).then((answer) => answer.text());
  await post();
  await assertRejects(post, TypeError);
  assertEquals(end.arrived.length, 3);
});

Deno.test("every read has its own connection, and the first and the later ones fail the same way", async () => {
  const body = JSON.stringify({ ok: true, err: "", data: { note: "x".repeat(5_000) } });
  const chunks = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
  const reactions: [reaction: Reaction, code: string][] = [
    [json(body), "too-large"],
    [{ send: `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${chunks}` }, "too-large"],
    [{ send: "HTTP/1.1 307 Moved\r\nlocation: /other\r\ncontent-length: 0\r\n\r\n" }, "http-307"],
    [json("<html>"), "not-json"],
    [refused("1011 busy"), "1011"],
    ["hang-up", "connection-lost"],
    ["silence", "timeout"],
  ];
  for (const [reaction, code] of reactions) {
    for (const reads of [0, 1]) {
      await using end = farEnd((_, index) => index < reads ? ok({ enableBalance: "5" }) : reaction);
      await using client = await connect({
        gateway: { url: end.url, maxAnswerBytes: 1_000 },
        retry: { attempts: 1 },
      });
      const read = (options = {}) => client.call(account.funds, { market: "hk" }, options);
      if (reads === 1) assertEquals((await read()).available, "5");
      const error = await assertRejects(
        () => read(reaction === "silence" ? { timeoutMs: 700 } : {}),
        BrokerError,
      );
      assertEquals([error.code, reads], [code, reads]);
      const closesConnection = end.arrived.map(({ head }) => /^connection: close$/im.test(head));
      assertEquals(closesConnection, Array.from({ length: reads + 1 }, () => true));
    }
  }
});

Deno.test("an answer that the gateway sends twice is never the answer of the next call", async () => {
  const amounts: Record<string, string> = { K: "100", P: "200" };
  const react = ({ body }: Arrived) => ({
    ...ok({ assetBalance: amounts[String(body.params.exchangeType)] }),
    twice: true,
  });
  await withClient(react, async (client) => {
    for (let round = 0; round < 15; round++) {
      for (const [market, amount] of [["hk", "100"], ["us", "200"]] as const) {
        assertEquals((await client.account.funds({ market })).totalAssets, amount, `${market} ${round}`);
      }
    }
  });
});

Deno.test("a read succeeds on a later try", async () => {
  await withClient(
    (_, index) => index < 2 ? "hang-up" : ok({ enableBalance: "5" }),
    async (client, arrived) => {
      assertEquals((await client.account.funds({ market: "hk" })).available, "5");
      assertEquals(arrived.length, 3);
    },
  );
});

Deno.test("a timeout ends a read with TransportError and a write with OutcomeUnknownError", async () => {
  await withClient(() => "silence", async (client, arrived) => {
    const read = await assertRejects(
      () => client.call(account.funds, { market: "hk" }, { timeoutMs: 700 }),
      TransportError,
    );
    assertEquals(read.code, "timeout");
    assertEquals(arrived.length, 3);
    const write = await assertRejects(
      () => client.orders.place(order, { timeoutMs: 700 }),
      OutcomeUnknownError,
    );
    assertEquals(write.code, "timeout");
    assertEquals(arrived.length, 4);
  });
});

Deno.test("an aborted read rejects with the reason; an aborted write has an unknown outcome", async () => {
  await withClient(() => "silence", async (client, arrived) => {
    for (const isWrite of [false, true]) {
      const controller = new AbortController();
      const call = isWrite
        ? client.orders.place(order, { signal: controller.signal })
        : client.account.funds({ market: "hk" }, { signal: controller.signal });
      const before = arrived.length;
      await waitUntil("the request to arrive", () => arrived.length !== before);
      controller.abort(new DOMException("enough", "AbortError"));
      if (isWrite) assertEquals((await assertRejects(() => call, OutcomeUnknownError)).code, "aborted");
      else await assertRejects(() => call, DOMException, "enough");
    }
    const before = arrived.length;
    await assertRejects(() => client.orders.place(order, { signal: AbortSignal.abort() }), DOMException);
    assertEquals(arrived.length, before, "a call that is aborted from the start sends nothing");
  });
});

Deno.test("a refused connection means that nothing was delivered, also for writes", async () => {
  const { port, ...end } = farEnd(() => "hang-up");
  await end[Symbol.asyncDispose]();
  await using client = await connect({ gateway: `http://127.0.0.1:${port}`, retry: { waitMs: 1 } });
  const error = await assertRejects(
    () => client.orders.place(order),
    TransportError,
    "no connection to http://127.0.0.1",
  );
  assertEquals(error.code, "not-connected");
});

Deno.test("a rejection keeps the broker's code and text, which decide its class", async () => {
  const refusals: [string, typeof RejectedError, string | undefined][] = [
    ["1006 not authorised", RejectedError, "1006"],
    ["20033", LoginExpiredError, "20033"],
    ["1014 login timeout", LoginExpiredError, "1014"],
    ["1013 displaced by another login", DisplacedError, "1013"],
    ["current time does not allow entrust", MarketClosedError, undefined],
  ];
  for (const [text, errorClass, code] of refusals) {
    await withClient(() => refused(text), async (client, arrived) => {
      const error = await assertRejects(() => client.orders.place(order), errorClass);
      assertEquals([error.text, error.code, error.operation, error.transport], [
        text,
        code,
        "orders.place",
        "gateway",
      ]);
      assertEquals(error.constructor, errorClass);
      assertEquals(arrived.length, 1);
    });
  }
});

Deno.test("an answer above the size limit is not read, with or without a declared length", async () => {
  const body = JSON.stringify({ ok: true, err: "", data: { note: "x".repeat(5_000) } });
  const chunked = `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${
    body.length.toString(16)
  }\r\n${body}\r\n0\r\n\r\n`;
  for (const reaction of [json(body), { send: chunked }]) {
    await withClient(() => reaction, async (client) => {
      const error = await assertRejects(
        () => client.account.funds({ market: "hk" }),
        ProtocolError,
        "more than 1000 bytes",
      );
      assertEquals(error.code, "too-large");
      assertEquals(
        (await assertRejects(() => client.orders.place(order), OutcomeUnknownError)).code,
        "too-large",
      );
    }, { maxAnswerBytes: 1_000 });
  }
});

Deno.test("a small gzip answer that is huge unpacked is not unpacked", async () => {
  const answer = JSON.stringify({ ok: true, err: "", data: { assetBalance: "1" } });
  const packed = new Uint8Array(gzipSync(answer + " ".repeat(40_000_000)));
  assert(packed.length < 1_000_000, `${packed.length} bytes`);
  const asked: (string | null)[] = [];
  await using server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    await request.text();
    asked.push(request.headers.get("accept-encoding"));
    return asked.length === 1
      ? new Response(answer)
      : new Response(packed, { headers: { "content-encoding": "gzip" } });
  });
  await using client = await connect({ gateway: { url: `http://127.0.0.1:${server.addr.port}` } });
  await client.account.funds({ market: "hk" });
  await assertRejects(() => client.account.funds({ market: "hk" }), ProtocolError, "it is not JSON");
  assertEquals(asked, ["identity", "identity"]);
});

Deno.test("readText() counts unpacked bytes, and ignores the length that a compressed answer declares", async () => {
  const headers = { "content-encoding": "gzip", "content-length": "10" };
  await assertRejects(() => readText(new Response("x".repeat(101), { headers }), 100), TooLargeError);
  assertEquals(await readText(new Response("x".repeat(100), { headers }), 100), "x".repeat(100));
});

/** Heads of a large answer: its body ends by its length, by its chunks or with the connection. */
const largeHeads = {
  "with a length": (size: number) => `content-length: ${size}\r\n\r\n`,
  "in chunks": () => "transfer-encoding: chunked\r\n\r\n",
  "until the connection ends": () => "connection: close\r\n\r\n",
};

for (const [how, headOf] of Object.entries(largeHeads)) {
  Deno.test(`a huge answer to a write, sent ${how}, is not read to its end and blocks nothing`, async () => {
    const size = 24 * 1024 * 1024;
    const piece = new TextEncoder().encode(" ".repeat(16_384));
    let sent = 0;
    let connections = 0;
    const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const serving = (async () => {
      for await (const connection of listener) {
        connections++;
        await connection.read(piece.slice());
        await connection.write(new TextEncoder().encode(`HTTP/1.1 200 OK\r\n${headOf(size)}`));
        try {
          while (sent < size) {
            if (how === "in chunks") await connection.write(new TextEncoder().encode("4000\r\n"));
            for (let at = 0; at < piece.length;) at += await connection.write(piece.subarray(at));
            if (how === "in chunks") await connection.write(new TextEncoder().encode("\r\n"));
            sent += piece.length;
          }
        } catch {
          // The client has closed the connection, as expected.
        }
        connection.close();
      }
    })();
    let longest = 0;
    let last = performance.now();
    const lag = setInterval(() => {
      longest = Math.max(longest, performance.now() - last);
      last = performance.now();
    }, 10);
    await using client = await connect({ gateway: { url: `http://127.0.0.1:${listener.addr.port}` } });
    const error = await assertRejects(
      () => client.orders.place(order),
      OutcomeUnknownError,
      "more than 1048576 bytes",
    );
    clearInterval(lag);
    listener.close();
    await serving;
    assertEquals([error.code, connections], ["too-large", 1]);
    assert(sent < size, `the client has read all ${sent} bytes`);
    assert(longest < 3_000, `nothing else ran for ${Math.round(longest)} ms`);
  });
}

Deno.test("an answer to a write just below the size limit is read, in one piece, in chunks, or after an interim answer", async () => {
  const body = JSON.stringify({ ok: true, err: "", data: "1234567", note: "x".repeat(900_000) });
  const half = body.length >> 1;
  const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;
  const chunked = `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${chunk(body.slice(0, half))}${
    chunk(body.slice(half))
  }0\r\n\r\n`;
  const interim =
    `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
  for (const reaction of [json(body), { send: chunked }, { send: interim }]) {
    await withClient(() => reaction, async (client, arrived) => {
      assertEquals(await client.orders.place(order), { orderId: "1234567" });
      assertEquals(arrived.length, 1);
    });
  }
});

Deno.test("a redirect is not followed", async () => {
  await using other = farEnd(() => ok({ data: "1" }));
  const moved = {
    send:
      `HTTP/1.1 307 Temporary Redirect\r\nlocation: ${other.url}/trade/TradeEntrust\r\ncontent-length: 0\r\n\r\n`,
  };
  await withClient(() => moved, async (client) => {
    await assertRejects(() => client.orders.place(order), OutcomeUnknownError, "HTTP 307");
    assertEquals(other.arrived.length, 0);
  });
});

Deno.test("raw() sends an operation that the catalogue does not contain once, as a write", async () => {
  await withClient((_, index) => index === 0 ? ok({ anything: [1] }) : "hang-up", async (client, arrived) => {
    assertEquals(await client.raw("trade", "TradeSomethingNew", { a: "1" }), { anything: [1] });
    assertEquals(arrived[0]!.body.params, { a: "1" });
    await assertRejects(() => client.raw("trade", "TradeSomethingNew"), OutcomeUnknownError);
    assertEquals(arrived.length, 2);
    await assertRejects(() => client.raw("..", "x y"), TypeError, "not a path");
  });
});

Deno.test("an operation that only the socket has is rejected with the reason", async () => {
  await withClient(() => ok({}), async (client, arrived) => {
    await assertRejects(() => client.account.keepLogin(), UnmappedError, "over the gateway");
    assertEquals(arrived.length, 0);
  });
});

Deno.test("unreadable addresses are rejected immediately", () => {
  assertThrows(() => gateway({ url: "127.0.0.1:11111" }), TypeError, "http://127.0.0.1:11111");
  assertThrows(
    () => gateway({ url: "http://127.0.0.1:11111", push: "nowhere" }),
    TypeError,
    "127.0.0.1:11112",
  );
  assertEquals(gateway({ url: "http://127.0.0.1:9/" }).push, { hostname: "127.0.0.1", port: 11112 });
});

Deno.test("a slow answer reaches its own call among many concurrent calls", async () => {
  const react = async ({ body }: Arrived): Promise<Reaction> => {
    const price = String(body.params.entrustPrice);
    await new Promise((resolve) => setTimeout(resolve, 40 - Number(price)));
    return ok({ data: `id-${price}` });
  };
  await withClient(react, async (client) => {
    const prices = Array.from({ length: 30 }, (_, index) => String(index + 1));
    const ids = await Promise.all(prices.map((price) => client.orders.place({ ...order, price })));
    assertEquals(ids.map(({ orderId }) => orderId), prices.map((price) => `id-${price}`));
  });
});

Deno.test("no error of a login shows the password or its key", async () => {
  const key = "MDEyMzQ1Njc4OWFiY2RlZg==";
  await using end = farEnd(() => refused("wrong password"));
  await using client = await connect({
    gateway: end.url,
    tradePassword: "sesame-123",
    tradePasswordKey: key,
  });
  const error = await assertRejects(() => client.account.login(), RejectedError);
  assert(!/sesame|MDEyMz/.test(Deno.inspect(error) + JSON.stringify(error)));
  assertEquals(end.arrived[0]!.body.params, { password: "FSWBnHkrmTcvs+dhT9KhCQ==" });
});

Deno.test("no error of a login shows the password if the gateway repeats the request with escapes", async () => {
  const encrypted = "FSWBnHkrmTcvs+dhT9KhCQ==";
  const escaped = (text: string) =>
    text.replace(/["+=]/g, (char) => `\\u00${char.charCodeAt(0).toString(16).toUpperCase()}`);
  const html = (text: string) => text.replace(/["+=]/g, (char) => `&#${char.charCodeAt(0)};`);
  const invisible = (text: string) => text.replace(/\w/g, "$&\u200b");
  for (const repeat of [escaped, html, invisible]) {
    const said = `1009 invalid: ${repeat(`{"password":"${encrypted}","plain":"sesame-123"}`)}`;
    await using end = farEnd(() => refused(said));
    await using client = await connect({
      gateway: end.url,
      tradePassword: "sesame-123",
      tradePasswordKey: "MDEyMzQ1Njc4OWFiY2RlZg==",
    });
    const error = await assertRejects(() => client.account.login(), RejectedError);
    const shown = (Deno.inspect(error) + JSON.stringify(error)).replaceAll(/[^\w\n]/g, "");
    assert(!/sesame|FSWBnHk|dhT9KhCQ/.test(shown), shown);
    assertStringIncludes(error.message, "[secret]");
  }
});

Deno.test("a rejection keeps at most 2,000 characters of the broker's text, and no beginning of the password at the cut", async () => {
  const password = "hunter2-pass";
  const long = (start: string, cutAt: number) =>
    `${start}${".".repeat(cutAt - start.length - 10)}${password}${"x".repeat(900_000)}`;
  const reactions: [reaction: Reaction, most: number][] = [
    [refused(long("1012 ", 2_000)), 2_001],
    [refused(long("9999 ", 2_000)), 2_001],
    [json(JSON.stringify({ ok: false, err: long("9999 ", 300), data: null }), "400 Bad Request"), 400],
    [json(JSON.stringify({ ok: true, err: long("9999 ", 300), data: null })), 400],
  ];
  for (const [reaction, most] of reactions) {
    await using end = farEnd(() => reaction);
    await using client = await connect({
      gateway: { url: end.url, tradePasswordKey: "MDEyMzQ1Njc4OWFiY2RlZg==" },
      tradePassword: password,
    });
    for (const call of [() => client.raw("trade", "Any"), () => client.account.login()]) {
      const error = await assertRejects(call, BrokerError);
      assert(error.message.length < 3_000, `${error.message.length}`);
      if (error instanceof RejectedError) assert(error.text.length <= most, `${error.text.length}`);
      assert(!error.message.includes("hun"), error.message.slice(-400));
      assert(!Deno.inspect(error).includes("hunter"), Deno.inspect(error).slice(-400));
    }
  }
});

Deno.test("a Date header far from any trading day does not count as the broker's time", async () => {
  const cases: [date: string, told: string[]][] = [
    ["Fri, 15 Aug 2025 02:00:00 GMT", ["2025-08-15T02:00:00.000Z"]],
    ["Fri, 15 Aug 2008 02:00:00 GMT", []],
    // In Hong Kong this time is in the year 10000, but the lists of a day need a year of four digits.
    ["Fri, 31 Dec 9999 23:59:59 GMT", []],
    ["Sat, 13 Sep 275760 00:00:00 GMT", []],
    ["soon", []],
  ];
  for (const [date, told] of cases) {
    const { send } = ok([]);
    await withClient(() => ({ send: send.replace("\r\n", `\r\ndate: ${date}\r\n`) }), async (client) => {
      const times: string[] = [];
      await client.account.holdings({ market: "hk" }, {
        onBrokerTime: ({ time }) => times.push(new Date(time).toISOString()),
      });
      assertEquals(times, told, date);
    });
  }
});

Deno.test("texts of an answer are read quickly, even texts for which a slow regular expression would need hours", async () => {
  // If a regular expression starts again at each place of such a text, its time grows with the square of the length.
  const dots = `${"!".repeat(900_000)}a`;
  const date = `a${" ".repeat(60_000)}b`;
  const head = `HTTP/1.1 200 OK\r\ndate:${date}\r\n`;
  const body = JSON.stringify({ ok: false, err: dots, data: null });
  await using server = farEnd(() => ({ send: `${head}content-length: ${body.length}\r\n\r\n${body}` }));
  await using client = await connect({ gateway: { url: server.url } });
  for (let call = 0; call < 20; call++) {
    const error = await assertRejects(() => client.orders.place(order), OutcomeUnknownError);
    assert(error.message.length < 3_000, `${error.message.length}`);
  }
});
