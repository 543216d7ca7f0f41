/** Tests of amendments and cancellations with an unknown outcome: the lists decide, and nothing is repeated blindly. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { connect } from "../../lib/client/connect.ts";
import { OutcomeUnknownError, ProtocolError } from "../../lib/errors.ts";
import type { CancelledOrders } from "../../lib/recipes/kinds/cancel_open_orders.ts";
import { compileRecipe, runRecipe } from "../../lib/recipes/mod.ts";
import { farEnd, json, ok, type Reaction, refused } from "../support/far_end.ts";

/** States of an order, by their codes on the wire. */
const [OPEN, CANCEL_PENDING, CANCELLED, FILLED] = ["2", "3", "6", "8"];

/** A gateway with orders. The test says what each write does, and what the gateway answers. */
function scripted(
  states: Map<string, string>,
  onWrite: (path: string, params: Record<string, unknown>) => Reaction,
) {
  const writes: string[] = [];
  const rows = () =>
    [...states].map(([entrustId, status], index) => ({
      entrustId,
      status,
      stockCode: "00700.HK",
      exchangeType: "K",
      entrustBs: "1",
      entrustAmount: "100",
      canBeCanceled: status === OPEN ? "1" : "0",
      queryParamStr: String(index + 1),
    }));
  const end = farEnd(({ path, body: { params } }) => {
    if (path === "/trade/TradeQueryRealEntrustList") {
      const from = Number(params.queryParamStr ?? 0) || 0;
      return ok({ data: rows().slice(from, from + Number(params.queryCount ?? 20)) });
    }
    writes.push(`${path.split("/").at(-1)} ${JSON.stringify(params.entrustId)}`);
    return onWrite(path, params);
  });
  return { end, writes };
}

/** Runs `cancel-open-orders` like a recipe. */
async function cancelOpen(url: string): Promise<CancelledOrders> {
  const text = JSON.stringify({
    name: "sweep",
    window: "XHKG.open..XHKG.close-10m",
    steps: [{ id: "all", uses: "cancel-open-orders", with: { markets: ["hk"] } }],
  });
  await using client = await connect({ gateway: { url }, retry: { attempts: 1 } });
  const recipe = await compileRecipe(text, "sweep.json");
  const { steps } = await runRecipe(recipe, {
    client,
    now: () => Date.parse("2025-08-15T10:30:00+08:00"),
    session: {
      date: "2025-08-15",
      open: "2025-08-15T09:30:00+08:00",
      close: "2025-08-15T16:00:00+08:00",
      halfDay: false,
    },
    allowWrites: true,
  });
  return steps[0]!.output as CancelledOrders; // the one step of the recipe
}

const idOf = (params: Record<string, unknown>) => String(params.entrustId);

Deno.test("a cancellation that arrives after the fill: the list shows the fill, and the cancellation is sent once", async () => {
  for (const answer of [refused("order is filled"), refused("1008 call failed"), "hang-up"] as const) {
    const states = new Map([["1", OPEN], ["2", OPEN]]);
    const { end, writes } = scripted(states, (_path, params) => {
      const id = idOf(params);
      states.set(id, id === "1" ? FILLED : CANCELLED);
      return id === "1" ? answer : ok({ data: id });
    });
    await using _ = end;
    assertEquals(await cancelOpen(end.url), {
      ok: true,
      cancelled: ["2"],
      filled: ["1"],
      refused: [],
      stillOpen: [],
    });
    assertEquals(writes, ['TradeCancelEntrust "1"', 'TradeCancelEntrust "2"']);
  }
});

Deno.test("a cancellation whose answer is lost stays unknown until a list shows that the order has ended", async () => {
  const after: [string, (states: Map<string, string>) => void][] = [
    ["open", () => {}],
    ["pending", (states) => states.set("1", CANCEL_PENDING)],
    ["gone", (states) => states.delete("1")],
  ];
  for (const [name, change] of after) {
    const states = new Map([["1", OPEN]]);
    const { end, writes } = scripted(states, () => {
      change(states);
      return "hang-up";
    });
    await using _ = end;
    await assertRejects(() => cancelOpen(end.url), OutcomeUnknownError);
    assertEquals([name, writes], [name, ['TradeCancelEntrust "1"']]);
  }
  // Control: with an answer, an order that is still open is reported, and nothing is unknown.
  const states = new Map([["1", OPEN]]);
  const { end } = scripted(states, () => ok({ data: "1" }));
  await using _ = end;
  const { ok: isDone, stillOpen } = await cancelOpen(end.url);
  assertEquals([isDone, stillOpen], [false, ["1"]]);
});

Deno.test("an amendment whose answer is lost and that leaves two orders: both are found and both are cancelled", async () => {
  const states = new Map([["1", OPEN]]);
  const { end, writes } = scripted(states, (path, params) => {
    if (path.endsWith("TradeChangeEntrust")) {
      states.set("2", OPEN); // in addition to the old one
      return "hang-up";
    }
    states.set(idOf(params), CANCELLED);
    return ok({ data: idOf(params) });
  });
  await using _ = end;
  await using client = await connect({ gateway: { url: end.url }, retry: { attempts: 1 } });
  const amend = { market: "hk", symbol: "00700.HK", orderId: "1", quantity: "100", price: "2" } as const;
  const error = await assertRejects(() => client.orders.amend(amend), OutcomeUnknownError);
  assertEquals(error.lists, ["orders.today", "fills.today"]);
  const rows = await client.orders.today({ market: "hk" }).toArray();
  assertEquals(rows.filter(({ canCancel }) => canCancel).map(({ orderId }) => orderId), ["1", "2"]);
  assertEquals((await cancelOpen(end.url)).cancelled, ["1", "2"]);
  assertEquals(writes, ['TradeChangeEntrust "1"', 'TradeCancelEntrust "1"', 'TradeCancelEntrust "2"']);
});

Deno.test("a batch cancel that times out after 60 of 100: only the remaining orders are cancelled", async () => {
  const ids = Array.from({ length: 100 }, (_, index) => String(index + 1));
  const states = new Map(ids.map((id) => [id, OPEN]));
  const { end, writes } = scripted(states, (path, params) => {
    if (path.endsWith("TradeBatchCancelEntrust")) {
      for (const id of ids.slice(0, 60)) states.set(id, CANCELLED);
      return "silence";
    }
    states.set(idOf(params), CANCELLED);
    return ok({ data: idOf(params) });
  });
  await using _ = end;
  await using client = await connect({ gateway: { url: end.url }, retry: { attempts: 1 } });
  const error = await assertRejects(
    () => client.orders.cancelMany({ market: "hk", orderIds: ids }, { timeoutMs: 3_000 }),
    OutcomeUnknownError,
  );
  assertEquals([error.code, error.lists], ["timeout", ["orders.today", "fills.today"]]);
  assertEquals(writes.length, 1);
  const result = await cancelOpen(end.url);
  assertEquals([result.ok, result.cancelled], [true, ids.slice(60)]);
  assertEquals(writes.slice(1), ids.slice(60).map((id) => `TradeCancelEntrust "${id}"`));
  // Control: if no order remains, nothing is sent.
  assertEquals((await cancelOpen(end.url)).cancelled, []);
  assertEquals(writes.length, 41);
});

Deno.test("a missing order list does not prove that no order is open", async () => {
  for (const left of ["at once", "afterwards", "never"]) {
    let readings = 0;
    const states = new Map([["1", OPEN]]);
    const { end: inner, writes } = scripted(states, (_path, params) => {
      states.set(idOf(params), CANCELLED);
      return ok({ data: idOf(params) });
    });
    await using _ = inner;
    await using end = farEnd(async ({ path, body }) => {
      const isReading = path === "/trade/TradeQueryRealEntrustList";
      if (isReading && (left === "at once" || (left === "afterwards" && writes.length > 0))) return ok({});
      readings++;
      const answer = await fetch(inner.url + path, { method: "POST", body: JSON.stringify(body) });
      return json(await answer.text());
    });
    if (left === "never") {
      assertEquals((await cancelOpen(end.url)).cancelled, ["1"]);
      assert(readings > 1);
    } else {
      const error = await assertRejects(() => cancelOpen(end.url), ProtocolError);
      assertEquals([error.code, writes.length], ["list-unproven", left === "at once" ? 0 : 1]);
    }
  }
});

Deno.test("a batch cancel that did not cancel every order is not ok", async () => {
  const batch = async (failed: readonly string[]) => {
    const ids = ["1", "2"];
    await using end = farEnd(() =>
      ok({
        successEntrustId: ids.filter((id) => !failed.includes(id)),
        failCancelEntrust: failed.map((failEntrustId) => ({ failEntrustId, remark: "filled" })),
      })
    );
    await using client = await connect({ gateway: { url: end.url }, retry: { attempts: 1 } });
    const text = JSON.stringify({
      name: "sweep",
      window: "XHKG.open..XHKG.close-10m",
      steps: [{ id: "all", uses: "orders.cancelMany", with: { market: "hk", orderIds: ids } }],
    });
    const recipe = await compileRecipe(text, "sweep.json");
    const now = () => Date.parse("2025-08-15T10:30:00+08:00");
    return await runRecipe(recipe, { client, now, allowWrites: true });
  };
  for (const failed of [["1", "2"], ["2"]]) {
    const { ok: isOk, steps: [step] } = await batch(failed);
    assertEquals([failed, isOk, step!.ok], [failed, false, false]);
    assertEquals(
      (step!.output as { failed: { orderId: string }[] }).failed.map(({ orderId }) => orderId),
      failed,
    );
  }
  // Control: all were cancelled.
  const { ok: isOk, steps: [step] } = await batch([]);
  assertEquals([isOk, step!.output], [true, { cancelled: ["1", "2"], failed: [] }]);
});
