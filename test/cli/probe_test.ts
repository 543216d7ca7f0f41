/** Tests of `hsgate probe` over real sockets: what it calls, what it reports, and what it never reports. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { examine } from "../../lib/operations/answer_shapes.ts";
import { operations } from "../../lib/operations/mod.ts";
import type { ValueType } from "../../lib/operations/types.ts";
import { routes } from "../../lib/endpoints/gateway_http.ts";
import { systemMachine } from "../../lib/time.ts";
import { Learned, marketsOf, planCall, reads, whyNot } from "../../lib/probe/plan.ts";
import { readReport, withoutValues } from "../../lib/probe/report.ts";
import { startSimulator } from "../../lib/simulator/mod.ts";
import { InterruptedError } from "../../tasks/terminal/exit_codes.ts";
import { connectDirect } from "../support/direct_client.ts";
import { farEnd, json } from "../support/far_end.ts";
import { reportWith } from "../support/probe_report.ts";
import {
  cli,
  directEnvOf,
  envOf,
  folder,
  KEY,
  MORNING,
  PASSWORD,
  simulate,
  simulatePlatform,
  spawned,
} from "./support.ts";

const FAST = ["--pace", "0"];

async function reportIn(path: string) {
  return readReport(await Deno.readTextFile(path), path);
}

/** Starts a server that passes requests on to a gateway, and changes the results of some paths. */
function changing(target: string, changes: Record<string, (data: Data) => unknown>) {
  return Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const { pathname } = new URL(request.url);
    const answer = await fetch(`${target}${pathname}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: await request.text(),
    });
    const headers = { "content-type": "application/json", date: answer.headers.get("date") ?? "" };
    const body = await answer.json();
    const change = changes[pathname.split("/").at(-1)!];
    if (change !== undefined && body.ok) body.data = change(body.data);
    return new Response(JSON.stringify(body), { headers });
  });
}

// deno-lint-ignore no-explicit-any -- JSON of any shape
type Data = any;

Deno.test("probe calls every read once for each market, writes nothing, and finds a simulated broker as described", async () => {
  await using gateway = await simulate();
  await using dir = await folder();
  const out = `${dir.path}/r.json`;
  const pushed = gateway.state().orderPushes;
  const before = gateway.broker.call("orders.today", { market: "hk", limit: 99, cursor: "0" });
  const { code, out: shown, err } = await cli(["probe", "--yes", "--out", out, ...FAST], {
    env: envOf(gateway),
  });
  assertEquals(code, 0, shown + err);
  const report = await reportIn(out);
  const wanted = reads().filter((each) => whyNot(each, "gateway") === undefined);
  assert(wanted.length > 30);
  for (const operation of wanted) {
    const calls = report.calls.filter((each) =>
      each.operation === operation.name && each.page === undefined && !each.subscribed
    );
    const left = report.left.filter((each) => each.operation === operation.name);
    assertEquals(calls.length + left.length, marketsOf(operation).length, operation.name);
    assert(calls.length > 0, operation.name);
  }
  assert(report.calls.every(({ operation }) => operations.get(operation)!.effect === "read"));
  assertEquals(report.calls.filter(({ outcome }) => !["fits", "rejected"].includes(outcome)), []);
  assertEquals(gateway.broker.call("orders.today", { market: "hk", limit: 99, cursor: "0" }), before);
  const { subscriptions, orderPushes, tradeLogin } = gateway.state();
  assertEquals([subscriptions, orderPushes, tradeLogin], [0, pushed, "in"]);
  // The broker rejects bars without a subscription. The probe then subscribes, gets the bars, and ends its
  // subscription.
  const bars = report.calls.filter(({ operation }) => operation === "quotes.bars");
  assertEquals(bars.map(({ outcome, subscribed }) => `${outcome} ${subscribed === true}`), [
    ...Array(4).fill(["rejected false", "fits true"]).flat(),
  ]);
  assertStringIncludes(shown, "Called again with a subscription: quotes.bars");
  assertEquals((await Deno.stat(out)).mode! & 0o777, 0o600);
  assertStringIncludes(shown, "as the catalogue says");
  assert(report.calls.some(({ page }) => page === 2), "a list was read with a second page");
  assertEquals(Math.abs(report.clock!.aheadMs[0]) < 5_000 || report.clock!.answers > 0, true);
});

Deno.test("probe asks before each family, calls only what is wanted, and needs --yes without a terminal", async () => {
  await using gateway = await simulate();
  await using dir = await folder();
  const env = envOf(gateway);
  const out = `${dir.path}/r.json`;
  const silent = await cli(["probe", "--out", out], { env });
  assertEquals(silent.code, 2);
  assertStringIncludes(silent.err, "--yes");
  assertEquals(gateway.state().callsTaken, 0);
  const asked: string[] = [];
  const answer = (question: string) => {
    asked.push(question);
    return question.includes("reads of fills ") ? "y" : "n";
  };
  const some = await cli(["probe", "--out", out, ...FAST], { env, answer });
  assertEquals(some.code, 0, some.err);
  assertEquals(asked.length, 8);
  assertStringIncludes(asked[0]!, "reads of account (funds, holdings, ");
  const report = await reportIn(out);
  assertEquals(new Set(report.calls.map(({ operation }) => operation.split(".")[0])), new Set(["fills"]));
  assertEquals([report.families.fills, report.families.account], ["called", "declined"]);
  const only = await cli(["probe", "--yes", "--only", "quotes", "--json", "--out", out, ...FAST], { env });
  const calls: { operation: string }[] = JSON.parse(only.out).calls;
  assertEquals(calls.every(({ operation }) => operation.startsWith("quotes.")), true);
  const wrong = await cli(["probe", "--yes", "--only", "quote"], { env });
  assertEquals(wrong.code, 2);
  assertStringIncludes(wrong.err, 'did you mean "quotes"?');
});

Deno.test("after Ctrl-C the report has what was done, and says that it was interrupted", async () => {
  await using gateway = await simulate();
  await using dir = await folder();
  const out = `${dir.path}/r.json`;
  const stop = new AbortController();
  const onNote = (line: string) => {
    if (line.includes("reads of fills")) stop.abort(new InterruptedError("interrupted"));
  };
  const words = ["probe", "--yes", "--out", out, ...FAST];
  const { code, out: shown } = await cli(words, { env: envOf(gateway), signal: stop.signal, onNote });
  assertEquals(code, 130);
  assertStringIncludes(shown, "Stopped early: interrupted");
  const report = await reportIn(out);
  assertEquals(report.stopped, "interrupted");
  assert(report.calls.some(({ operation }) => operation === "orders.history"));
  assert(!report.calls.some(({ operation }) => operation.startsWith("quotes.")));
  assertEquals([report.families.account, report.families.quotes], ["called", "not reached"]);
});

Deno.test("probe reports each kind of difference, continues after rejections, and replay finds answers that cannot be read", async () => {
  await using gateway = await simulate();
  await using dir = await folder();
  const out = `${dir.path}/r.json`;
  gateway.faults.arm({ kind: "cursor-repeat", operation: "fundJournal.history", times: Infinity });
  gateway.faults.arm({
    kind: "busy",
    operation: "account.funds",
    times: 1,
    code: "1006",
    text: "no permission",
  });
  const each = (change: (row: Data) => Data) => (data: Data) => ({ ...data, data: data.data.map(change) });
  await using server = changing(gateway.info.gatewayUrl, {
    TradeQueryHoldsList: ({ holdsList, ...rest }) => ({
      ...rest,
      holdsList: holdsList.map((row: Data) => ({ ...row, stockType: "X7", currentAmount: 100.5 })),
    }),
    TradeQueryHistoryEntrustList: each((row) => ({ ...row, status: "Z" })),
    TradeQueryHistoryDeliverList: each(({ businessPrice: _, ...row }) => row),
    TradeQueryMaxAvailableAsset: (data) => [data],
  });
  const env = { ...envOf(gateway), HSGATE_GATEWAY_URL: `http://127.0.0.1:${server.addr.port}` };
  const { code, out: shown, err } = await cli(["probe", "--yes", "--out", out, ...FAST], { env });
  assertEquals(code, 7, shown + err);
  const report = await reportIn(out);
  const found = (operation: string, kind: string) =>
    report.calls.filter((call) => call.operation === operation)
      .flatMap(({ differences }) => differences).filter((one) =>
        one.kind === kind && one.weight !== "absent"
      );
  assertEquals(found("account.holdings", "extra")[0]?.path, "data.holdsList[].stockType");
  assertEquals(found("account.holdings", "type")[0]?.path, "data.holdsList[].currentAmount");
  assertStringIncludes(
    found("orders.history", "code")[0]!.text,
    "the code Z is not in the table entrustStatus",
  );
  assertEquals(found("fills.history", "missing")[0]?.weight, "breaks");
  assertStringIncludes(found("fundJournal.history", "paging")[0]!.text, "rows of the first page");
  const outcomes = (operation: string) =>
    new Set(report.calls.filter((call) => call.operation === operation).map(({ outcome }) => outcome));
  assert(outcomes("fills.history").has("unreadable"));
  const [first] = report.calls;
  assertEquals([first?.operation, first?.outcome, first?.code], ["account.funds", "rejected", "1006"]);
  assertStringIncludes(shown, "fills.history: hsgate cannot read the answer (unexpected-shape)");
  const again = await cli(["probe", "--replay", out, "--json"], { fromDisk: true });
  assertEquals(again.code, 7, again.err);
  const { cases }: { cases: { operation: string; answers: number; read: number; then: string }[] } = JSON
    .parse(again.out);
  const unread = cases.filter(({ answers, read }) => read < answers);
  assert(unread.some(({ operation }) => operation === "fills.history"));
  for (const one of cases.filter(({ then }) => then === "fits" || then === "rejected")) {
    assertEquals(one.read, one.answers, one.operation);
  }
  for (const one of unread) assertEquals(one.then, "unreadable", one.operation);
  // A simulator that is started with these answers gives answers of the same shapes to any client.
  await using simulator = await startSimulator({
    seed: 1,
    days: 1,
    clock: { now: () => MORNING },
    answers: report.calls.flatMap(({ operation, codes, answer }) =>
      answer ? [{ operation, codes, answer }] : []
    ),
    gateway: { pushIntervalMs: 0, tradePassword: PASSWORD, tradePasswordKey: KEY },
    platform: { pushIntervalMs: 0 },
  });
  const holdings = await cli(["call", "account.holdings", '{"market":"hk"}', "--wire", "--json"], {
    env: { ...envOf(simulator), HSGATE_GATEWAY_URL: simulator.info.gatewayUrl },
  });
  assertStringIncludes(holdings.out, "stockType");
  const days = '{"market":"hk","from":"2025-08-01","to":"2025-08-14"}';
  const history = await cli(["call", "orders.history", days, "--all", "--json"], {
    env: { ...envOf(simulator), HSGATE_GATEWAY_URL: simulator.info.gatewayUrl },
  });
  assertEquals(history.code, 0, history.err);
  assert(JSON.parse(history.out).length > 0);
});

Deno.test("an answer that does not fit its message is named by replay, and keeps the simulator from starting", async () => {
  await using dir = await folder();
  const member = { times: 1, texts: { digits: [1, 3, 3] } };
  const path = `${dir.path}/r.json`;
  const message = { type: 13, code: "0000", message: "TradeQueryMarginFundInfoResponse" };
  for (const [payload, fault] of [[{ none: member }, "none"], [{ data: member }, "data"]] as const) {
    const record = { times: 1, members: payload };
    await Deno.writeTextFile(path, reportWith({ ...message, payload: { times: 1, record } }));
    const replayed = await cli(["probe", "--replay", path, "--json"], { fromDisk: true });
    const { cases: [only] } = JSON.parse(replayed.out);
    assertEquals([replayed.code, only.answers, only.read], [7, 1, 0], replayed.err);
    assertStringIncludes(only.why, `Cannot send an answer to "account.funds" in the report's shape: `);
    assertStringIncludes(only.why, fault);
    const { code, err } = await spawned(["sim", "--answers", path, "--http-port", "0"]);
    assertEquals(code, 2, err);
    assertStringIncludes(err, `Cannot start the simulator: --answers: ${only.why}`);
  }
});

Deno.test('with readOnly "yes" probe sends no password, and says what it could not call', async () => {
  await using gateway = await simulate();
  await using dir = await folder();
  const out = `${dir.path}/r.json`;
  const env = { ...envOf(gateway), HSGATE_READ_ONLY: "yes" };
  const { code, out: shown } = await cli(["probe", "--yes", "--out", out, ...FAST], { env });
  assertEquals([code, gateway.state().tradeLogin], [6, "out"]);
  assertStringIncludes(shown, "Not called, because the trade login is missing: ");
  const report = await reportIn(out);
  assertEquals(report.calls.filter(({ operation }) => operation.startsWith("account.")).length, 2); // funds, and the rates
  assert(report.calls.some(({ operation, outcome }) => operation === "quotes.latest" && outcome === "fits"));
});

Deno.test("probe and replay work over the direct transport as they do over the gateway", async () => {
  await using platform = await simulatePlatform();
  await using dir = await folder();
  const env = directEnvOf(platform.info, dir.path);
  const out = `${dir.path}/d.json`;
  const words = ["probe", "--transport", "direct", "--yes", "--out", out, ...FAST];
  const { code, out: shown, err } = await cli(words, { env });
  assertEquals(code, 0, shown + err);
  const report = await reportIn(out);
  const wanted = reads().filter((each) => whyNot(each, "direct") === undefined);
  for (const { name } of wanted) assert(report.calls.some(({ operation }) => operation === name), name);
  assert(report.calls.some(({ answer }) => answer?.over === "platform"));
  assert(report.calls.some(({ answer }) => answer?.payload !== undefined));
  const replayed = await cli(["probe", "--replay", out], { fromDisk: true });
  assertEquals(replayed.code, 0, replayed.out);
  // No value that any of these answers contained, and no credential, is in the report.
  const values = new Set([platform.info.mobile, platform.info.loginPassword, platform.info.tradePassword]);
  await using client = await connectDirect(platform.info);
  const learned = new Learned();
  for (const operation of wanted) {
    for (const market of marketsOf(operation)) {
      const planned = planCall(operation, market, { learned, now: systemMachine.now(), isLast: true });
      if ("why" in planned) continue;
      const answer = await client.call(operation, planned.params, {
        onWire: (wire) => examine(operation, wire).values.forEach((value) => values.add(value)),
      }).catch(() => undefined);
      if (answer !== undefined) learned.take(operation, answer, market);
    }
  }
  const personal = [...values].filter((value) => value.length >= 6 && !/^0+(\.0+)?$/.test(value));
  assert(personal.length > 100);
  const text = await Deno.readTextFile(out);
  for (const value of personal) assert(!text.includes(value) || isOurs(value), value);
});

/** Returns whether a text is a word of the catalogue, such as a code that the report may show. */
function isOurs(value: string): boolean {
  return [...operations.values()].some(({ response }) => {
    const dictionaries = (type: ValueType<unknown>): boolean =>
      type.dictionary?.entries.some(({ code, name }) => code === value || name === value) === true ||
      Object.values(type.fields ?? {}).some((field) => dictionaries(field.type));
    return dictionaries(response);
  });
}

Deno.test("the report shows the code of a rejection only if it has the form of a code", async () => {
  await using platform = await simulatePlatform();
  await using dir = await folder();
  const out = `${dir.path}/d.json`;
  const codes = ["1006", "88009", "Qzxw", "1006 of 88009173355"];
  for (const code of codes) {
    platform.faults.arm({ kind: "system-error", operation: "account.holdings", times: 1, code, text: "no" });
  }
  const words = ["probe", "--transport", "direct", "--only", "account", "--yes", "--out", out, ...FAST];
  const { out: shown, err } = await cli(words, { env: directEnvOf(platform.info, dir.path) });
  const report = await reportIn(out);
  const holdings = report.calls.filter(({ operation }) => operation === "account.holdings");
  assertEquals(holdings.map(({ outcome, code }) => [outcome, code]), [
    ["rejected", "1006"],
    ["rejected", undefined],
    ["rejected", undefined],
    ["rejected", undefined],
  ]);
  for (const code of codes.slice(1)) {
    assert(![await Deno.readTextFile(out), shown, err].join("\n").includes(code), code);
  }
  assertStringIncludes(shown, "Rejected: account.holdings (1006), account.holdings (no code)");
});

/** Marks: texts and numbers that occur nowhere else. */
const MARKS = {
  text: "Qzxw",
  name: "陳大文测试",
  number: "7319042",
  decimal: "58231.7904",
  account: "88009173355",
  symbol: "QZXW9.HK",
  person: "chanqzxw",
} as const;

/** Returns a mark in every encoding in which it could leak. */
function encodings(mark: string): string[] {
  const bytes = new TextEncoder().encode(mark);
  return [
    mark,
    mark.toLowerCase(),
    mark.toUpperCase(),
    [...mark].toReversed().join(""),
    bytes.toBase64().replace(/=+$/, ""),
    bytes.toHex(),
    encodeURIComponent(mark),
    JSON.stringify(mark).slice(1, -1),
    [...mark].map((each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, "0")}`).join(""),
  ];
}

/** Makes an answer of a type in which every value is marked. With `isRight`, its values have the right types. */
function marked(type: ValueType<unknown>, isRight: boolean): unknown {
  if (type.isList && type.fields?.rows !== undefined) {
    return { [type.fields.rows.wire]: marked(type.fields.rows.type, isRight) };
  }
  if (type.isList) {
    return type.item === undefined ? [] : [marked(type.item, isRight), marked(type.item, isRight)];
  }
  if (type.fields !== undefined) {
    const members = Object.values(type.fields).map(({ wire, type }) => [wire, marked(type, isRight)]);
    return {
      ...Object.fromEntries(members),
      // Members that the catalogue does not list, and values used as names.
      newMember: MARKS.text,
      [MARKS.account]: MARKS.person,
      [MARKS.symbol]: Number(MARKS.number),
      [MARKS.person]: { inner: MARKS.name },
      [MARKS.name]: [MARKS.decimal],
    };
  }
  if (!isRight) return type.name.length % 2 === 0 ? Number(MARKS.number) : MARKS.name;
  if (type.dictionary !== undefined) return type.proto.includes("string") ? MARKS.text : Number(MARKS.number);
  const shape = type.shape();
  if (shape.kind === "map") return { [MARKS.text]: { [MARKS.person]: MARKS.decimal } };
  if (shape.kind === "flag") return true;
  if (type.proto.includes("double")) return Number(MARKS.decimal);
  if (type.proto.includes("int32") || type.proto.includes("int64")) return Number(MARKS.number);
  if (shape.kind === "text" && shape.form === "decimal") return MARKS.decimal;
  return shape.kind === "text" && shape.form === "code" ? MARKS.symbol : `${MARKS.text} ${MARKS.person}`; // the test server reads parameters in ASCII only
}

for (
  const [what, answerOf] of [
    ["of the right types", (type: ValueType<unknown>) => ({ ok: true, err: "", data: marked(type, true) })],
    [
      "of other types",
      (type: ValueType<unknown>) => ({ ok: true, err: "", data: marked(type, false), [MARKS.account]: 1 }),
    ],
    ["in rejections", () => ({
      ok: false,
      err: `${MARKS.number} ${MARKS.account} of ${MARKS.name} (${MARKS.text})`,
      data: { [MARKS.person]: MARKS.account },
    })],
    ["in an answer that is not JSON", () => `${MARKS.account} ${MARKS.name} ${MARKS.text}`],
  ] as const
) {
  Deno.test(`the report of an account whose every value is marked shows no mark: values ${what}`, async () => {
    await using far = farEnd(({ path }) => {
      const answer = answerOf(routes.get(path)!.response);
      return json(typeof answer === "string" ? answer : JSON.stringify(answer));
    });
    await using dir = await folder();
    const out = `${dir.path}/r.json`;
    const env = {
      HSGATE_GATEWAY_URL: far.url,
      HSGATE_FUND_ACCOUNTS: MARKS.account,
      HSGATE_TIMEOUT_MS: "2000",
    };
    const words = ["probe", "--yes", "--out", out, ...FAST];
    const told = await cli(words, { env });
    assert(far.arrived.length > 20);
    const text = await Deno.readTextFile(out);
    const report = await reportIn(out);
    const jsonRun = await cli([...words, "--json"], { env });
    assert(report.calls.some(({ answer }) => answer !== undefined));
    const shown = [text, told.out, told.err, jsonRun.out, jsonRun.err].join("\n");
    for (const [name, mark] of Object.entries(MARKS)) {
      for (const form of encodings(mark)) assert(!shown.includes(form), `${name} as ${form}`);
    }
    assert(what === "in rejections" || what.includes("JSON") || text.includes("newMember"));
    const replayed = await cli(["probe", "--replay", out], { fromDisk: true });
    for (const mark of Object.values(MARKS)) assert(!replayed.out.includes(mark), mark);
  });
}

Deno.test("withoutValues() removes a name that is a value elsewhere in the answers", () => {
  const seen = { times: 1, record: { times: 1, members: { alice: { times: 1 }, data: { times: 1 } } } };
  const report = withoutValues({
    what: "hsgate probe",
    format: 1,
    transport: "gateway",
    started: "",
    ended: "",
    families: {},
    calls: [{
      operation: "orders.today",
      params: [],
      codes: {},
      outcome: "differs",
      ms: 1,
      answer: { over: "gateway", body: seen },
      differences: [{ path: "data.alice[].x", kind: "extra", weight: "differs", times: 1, of: 1, text: "" }],
    }],
    left: [],
  }, new Set(["Alice", "data"]));
  assertEquals(JSON.stringify(report).includes("alice"), false);
  assertEquals(report.calls[0]?.differences[0]?.path, "data.[name of 5 characters][].x");
  assertEquals(Object.keys(report.calls[0]?.answer?.body?.record?.members ?? {}), [
    "[name of 5 characters]",
    "data",
  ]);
});
