import { assertEquals, assertRejects } from "@std/assert";
import { connect, ProtocolError, TransportError } from "../../mod.ts";
import { operations } from "../../lib/operations/mod.ts";
import { type Arrived, farEnd, ok, type Reaction, refused } from "../support/far_end.ts";

const range = { from: "2025-08-11", to: "2025-08-15" };
const line = (cursor: string) => ({ businessBalance: "1.00", type: "21", queryParamStr: cursor });

/** A gateway that holds numbered lines and serves them as the broker documents it. */
function journal(
  count: number,
  change: (page: unknown[], request: Arrived) => Reaction | unknown[] = (page) => page,
) {
  const all = Array.from({ length: count }, (_, index) => line(String(index + 1)));
  return farEnd((request) => {
    const { queryParamStr, queryCount } = request.body.params;
    const start = Number(queryParamStr);
    const page = change(all.slice(start, start + Number(queryCount)), request);
    return Array.isArray(page) ? ok({ data: page }) : page as Reaction;
  });
}

Deno.test("a cursor walk gives every row once, and stops on a short or an empty page", async () => {
  for (const [count, calls] of [[0, 1], [1, 1], [98, 1], [99, 2], [100, 2], [198, 3], [250, 3]] as const) {
    await using end = journal(count);
    await using client = await connect({ gateway: end.url });
    const list = client.fundJournal.history({ market: "hk", ...range });
    assertEquals(list.isComplete, false);
    const rows = await list.toArray();
    assertEquals([rows.length, end.arrived.length, list.isComplete], [count, calls, true]);
    assertEquals(new Set(rows.map(({ cursor }) => cursor)).size, count);
  }
});

Deno.test("a walk asks for 99 rows at once, or for what the caller says", async () => {
  await using end = journal(10);
  await using client = await connect({ gateway: end.url });
  await client.fundJournal.history({ market: "hk", ...range }).toArray();
  await client.fundJournal.history({ market: "hk", ...range, limit: 4 }).toArray();
  assertEquals(end.arrived.map(({ body }) => [body.params.queryParamStr, body.params.queryCount]), [
    ["0", 99],
    ["0", 4],
    ["4", 4],
    ["8", 4],
  ]);
});

Deno.test("pages() tells the last page, and leaving early is not completeness", async () => {
  await using end = journal(10);
  await using client = await connect({ gateway: end.url });
  const list = client.fundJournal.history({ market: "hk", ...range, limit: 4 });
  const pages = [];
  for await (const { rows, number, isLast } of list.pages()) pages.push([rows.length, number, isLast]);
  assertEquals(pages, [[4, 1, false], [4, 2, false], [2, 3, true]]);
  assertEquals(list.isComplete, true);
  for await (const _ of list) break;
  assertEquals(list.isComplete, false);
});

Deno.test("a cursor that repeats, runs backwards or is missing ends the walk with an error", async () => {
  const faults: [string, (page: unknown[], request: Arrived) => unknown[]][] = [
    [
      "cursor-repeated",
      (_, { body }) => body.params.queryParamStr === "0" ? [line("1"), line("2")] : [line("2"), line("2")],
    ],
    ["cursor-repeated", () => [line("1"), line("1")]],
    [
      "cursor-backwards",
      (_, { body }) => body.params.queryParamStr === "0" ? [line("1"), line("20")] : [line("3"), line("4")],
    ],
    ["cursor-repeated", () => [line("a"), line("b")]],
    ["cursor-missing", () => [line(""), line("")]],
  ];
  for (const [code, change] of faults) {
    await using end = journal(10, change);
    await using client = await connect({ gateway: end.url });
    const list = client.fundJournal.history({ market: "hk", ...range, limit: 2 });
    const error = await assertRejects(
      () => list.toArray(),
      ProtocolError,
      "Cannot read fundJournal.history to its end",
    );
    assertEquals([error.code, list.isComplete], [code, false]);
  }
});

Deno.test("a page cap is an error, not a short list", async () => {
  await using end = journal(100);
  await using client = await connect({ gateway: end.url });
  const list = client.fundJournal.history({ market: "hk", ...range, limit: 10 }, { maxPages: 3 });
  const error = await assertRejects(() => list.toArray(), ProtocolError, "more than 3 pages");
  assertEquals([error.code, end.arrived.length, list.isComplete], ["page-cap", 3, false]);
});

Deno.test("an error in the middle of a walk is retried for its page, and ends the walk when it stays", async () => {
  let failures = 2;
  await using end = journal(
    20,
    (page, { body }) => body.params.queryParamStr === "12" && failures-- > 0 ? "hang-up" : page,
  );
  await using client = await connect({ gateway: end.url, retry: { waitMs: 1 } });
  const rows = await client.fundJournal.history({ market: "hk", ...range, limit: 4 }).toArray();
  assertEquals(rows.map(({ cursor }) => Number(cursor)), Array.from({ length: 20 }, (_, index) => index + 1));

  await using broken = journal(
    20,
    (page, { body }) => body.params.queryParamStr === "12" ? "hang-up" : page,
  );
  await using other = await connect({ gateway: broken.url, retry: { waitMs: 1 } });
  const list = other.fundJournal.history({ market: "hk", ...range, limit: 4 });
  const seen: string[] = [];
  await assertRejects(async () => {
    for await (const { cursor } of list) seen.push(cursor ?? "");
  }, TransportError);
  assertEquals([seen.length, list.isComplete], [12, false]);
});

Deno.test("page numbers run to the number of pages, to the mark, or to a short page", async () => {
  const conditional = (id: number) => ({ condOrderId: String(id), stockCode: "00700.HK" });
  await using total = farEnd(({ body }) => {
    const page = Number(body.params.pageNo);
    return ok({ data: [conditional(page)], curPageNo: page, curPageSize: 1, totalPages: 3 });
  });
  await using first = await connect({ gateway: total.url });
  const ids = (await first.conditionalOrders.today({ market: "hk", limit: 1 }).toArray()).map(({ orderId }) =>
    orderId
  );
  assertEquals([ids, typeof total.arrived[0]!.body.params.pageNo], [["1", "2", "3"], "number"]);

  const history = first.conditionalOrders.history({
    market: "hk",
    from: "2025-08-01 00:00:00",
    to: "2025-08-15 23:59:59",
  });
  assertEquals((await history.toArray()).length, 3);
  assertEquals(total.arrived.at(-1)!.body.params, {
    exchangeType: "K",
    startTime: "2025-08-01 00:00:00",
    endTime: "2025-08-15 23:59:59",
    pageNo: "3",
    pageSize: "99",
  });

  const fill = { stockCode: "HSI2508.HK", entrustBs: "1" };
  await using mark = farEnd(({ body }) =>
    ok({ data: [fill, fill], curPageNo: body.params.pageNo, lastPage: body.params.pageNo === 2 ? 1 : 0 })
  );
  await using second = await connect({ gateway: mark.url });
  assertEquals((await second.futures.fillsHistory({ ...range, limit: 2 }).toArray()).length, 4);

  const algo = (id: string) => ({ orderId: id, stockCode: "00700.HK" });
  await using short = farEnd(({ body }) =>
    ok({
      algoOrderList: ["a", "b"].slice(0, body.params.pageNo === "3" ? 1 : 2).map((id) =>
        algo(id + body.params.pageNo)
      ),
    })
  );
  await using third = await connect({ gateway: short.url });
  assertEquals((await third.algo.list({ ...range, limit: 2 }).toArray()).length, 5);
});

Deno.test("without a number of pages only a short page ends the list", async () => {
  const row = (id: number) => ({ condOrderId: String(id), stockCode: "00700.HK" });
  await using end = farEnd(({ body }) => {
    const page = Number(body.params.pageNo);
    return ok({ data: page < 3 ? [row(page * 2), row(page * 2 + 1)] : [row(6)], curPageNo: page });
  });
  await using client = await connect({ gateway: end.url });
  const list = client.conditionalOrders.today({ market: "hk", limit: 2 });
  assertEquals([(await list.toArray()).length, list.isComplete, end.arrived.length], [5, true, 3]);
});

Deno.test("a server that gives the same page again is noticed", async () => {
  await using end = farEnd(() =>
    ok({ data: [{ condOrderId: "1", stockCode: "00700.HK" }], curPageNo: 1, totalPages: 9 })
  );
  await using client = await connect({ gateway: end.url });
  const error = await assertRejects(
    () => client.conditionalOrders.today({ market: "hk", limit: 1 }).toArray(),
    ProtocolError,
    "page 2 was asked for and page 1 came",
  );
  assertEquals(error.code, "page-repeated");

  await using mute = farEnd(() => ok({ algoOrderList: [{ orderId: "1", stockCode: "00700.HK" }] }));
  await using other = await connect({ gateway: mute.url });
  const again = await assertRejects(() => other.algo.list({ ...range, limit: 1 }).toArray(), ProtocolError);
  assertEquals([again.code, mute.arrived.length], ["page-repeated", 2]);
});

Deno.test("a refusal in the middle of a walk keeps its class", async () => {
  await using end = journal(
    20,
    (page, { body }) => body.params.queryParamStr === "4" ? refused("1006 not authorised") : page,
  );
  await using client = await connect({ gateway: end.url });
  const error = await assertRejects(
    () => client.fundJournal.history({ market: "hk", ...range, limit: 4 }).toArray(),
    Error,
  );
  assertEquals(error.name, "RejectedError");
});

Deno.test("every operation with a cursor answers with rows that carry one", () => {
  for (const { name, paging, response } of operations.values()) {
    if (paging?.style !== "cursor") continue;
    assertEquals([name, response.fields?.rows?.type.fields?.cursor?.wire], [name, "queryParamStr"]);
  }
});
