import { assertEquals, assertRejects } from "@std/assert";
import { connect, ProtocolError, TransportError } from "../../mod.ts";
import { operations } from "../../lib/operations/mod.ts";
import { type Arrived, farEnd, ok, type Reaction, refused } from "../support/far_end.ts";

const range = { from: "2025-08-11", to: "2025-08-15" };
/**
 * Returns a row of the fund journal with a unique amount. The amount is the cursor as a number, or the character code
 * of a cursor that is a letter.
 */
const line = (cursor: string) => ({
  businessBalance: `${/^\d*$/.test(cursor) ? Number(cursor) : cursor.codePointAt(0)}.00`,
  type: "21",
  queryParamStr: cursor,
});

/**
 * Starts a gateway with numbered rows. It pages as the broker's documentation describes, unless `change` alters a page.
 */
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

Deno.test("paging by cursor returns every row once, and makes one more request to prove that nothing follows", async () => {
  for (const [count, calls] of [[0, 1], [1, 2], [98, 2], [99, 3], [100, 3], [198, 4], [250, 4]] as const) {
    await using end = journal(count);
    await using client = await connect({ gateway: end.url });
    const list = client.fundJournal.history({ market: "hk", ...range });
    assertEquals(list.isComplete, false);
    const rows = await list.toArray();
    assertEquals([rows.length, end.arrived.length, list.isComplete], [count, calls, true]);
    assertEquals(list.unproven, undefined);
    assertEquals(new Set(rows.map(({ cursor }) => cursor)).size, count);
  }
});

Deno.test("paging requests 99 rows at a time, or the caller's number", async () => {
  await using end = journal(10);
  await using client = await connect({ gateway: end.url });
  await client.fundJournal.history({ market: "hk", ...range }).toArray();
  await client.fundJournal.history({ market: "hk", ...range, limit: 4 }).toArray();
  assertEquals(end.arrived.map(({ body }) => [body.params.queryParamStr, body.params.queryCount]), [
    ["0", 99],
    ["9", 99], // asks for the rows after row 9: if the list is complete, only row 10 follows
    ["0", 4],
    ["4", 4],
    ["8", 4],
    ["9", 4],
  ]);
});

Deno.test("pages() marks the last page; leaving early does not count as complete", async () => {
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

Deno.test("a repeated, decreasing or missing cursor ends paging with an error", async () => {
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

Deno.test("a list with more pages than maxPages ends with an error, not as a short list", async () => {
  await using end = journal(100);
  await using client = await connect({ gateway: end.url });
  const list = client.fundJournal.history({ market: "hk", ...range, limit: 10 }, { maxPages: 3 });
  const error = await assertRejects(() => list.toArray(), ProtocolError, "more than 3 pages");
  assertEquals([error.code, end.arrived.length, list.isComplete], ["page-cap", 3, false]);
  const enough = client.fundJournal.history({ market: "hk", ...range, limit: 40 }, { maxPages: 3 });
  assertEquals((await enough.toArray()).length, 100);
});

Deno.test("toArray() ends with an error at maxListBytes; a loop over the rows has no such limit", async () => {
  await using end = farEnd(({ body: { params } }) => {
    const start = Number(params.queryParamStr);
    return ok({ data: Array.from({ length: 10 }, (_, index) => line(String(start + index + 1))) });
  });
  await using client = await connect({ gateway: end.url });
  const list = client.fundJournal.history({ market: "hk", ...range, limit: 10 }, { maxListBytes: 20_000 });
  const error = await assertRejects(() => list.toArray(), ProtocolError, "20000 bytes of memory");
  assertEquals([error.code, list.isComplete], ["list-too-large", false]);
  let rows = 0;
  for await (const _row of list) if (++rows === 2_000) break; // a reader that keeps no rows has no limit
  assertEquals(rows, 2_000);
});

Deno.test("after an error, paging requests the same page again; if the error persists, paging ends with it", async () => {
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

Deno.test("paging by number ends at the number of pages, at the end mark, or at a short page", async () => {
  const conditional = (id: number) => ({ condOrderId: String(id), stockCode: "00700.HK" });
  await using total = farEnd(({ body }) => {
    const page = Number(body.params.pageNo);
    return ok({ data: page > 3 ? [] : [conditional(page)], curPageNo: page, curPageSize: 1, totalPages: 3 });
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
    // One more request than the number of pages, because pages before the last one were short.
    pageNo: "4",
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
      algoOrderList: ["a", "b"].slice(0, { "1": 2, "2": 2, "3": 1 }[String(body.params.pageNo)] ?? 0).map((
        id,
      ) => algo(id + body.params.pageNo)),
    })
  );
  await using third = await connect({ gateway: short.url });
  assertEquals((await third.algo.list({ ...range, limit: 2 }).toArray()).length, 5);
});

Deno.test("without a number of pages, a short page followed by an empty one ends the list", async () => {
  const row = (id: number) => ({ condOrderId: String(id), stockCode: "00700.HK" });
  await using end = farEnd(({ body }) => {
    const page = Number(body.params.pageNo);
    const rows = page < 3 ? [row(page * 2), row(page * 2 + 1)] : page === 3 ? [row(6)] : [];
    return ok({ data: rows, curPageNo: page });
  });
  await using client = await connect({ gateway: end.url });
  const list = client.conditionalOrders.today({ market: "hk", limit: 2 });
  assertEquals([(await list.toArray()).length, list.isComplete, end.arrived.length], [5, true, 4]);
});

Deno.test("a server that sends the same page again is detected", async () => {
  await using end = farEnd(() =>
    ok({ data: [{ condOrderId: "1", stockCode: "00700.HK" }], curPageNo: 1, totalPages: 9 })
  );
  await using client = await connect({ gateway: end.url });
  const error = await assertRejects(
    () => client.conditionalOrders.today({ market: "hk", limit: 1 }).toArray(),
    ProtocolError,
    "page 2 was requested but page 1 came",
  );
  assertEquals(error.code, "page-repeated");

  await using mute = farEnd(() => ok({ algoOrderList: [{ orderId: "1", stockCode: "00700.HK" }] }));
  await using other = await connect({ gateway: mute.url });
  const again = await assertRejects(() => other.algo.list({ ...range, limit: 1 }).toArray(), ProtocolError);
  assertEquals([again.code, mute.arrived.length], ["page-repeated", 2]);
});

/** Reads the fund journal of a new gateway, four rows per page. */
async function readJournal(count: number, change: Parameters<typeof journal>[1]) {
  await using end = journal(count, change);
  await using client = await connect({ gateway: end.url });
  const list = client.fundJournal.history({ market: "hk", ...range, limit: 4 });
  const rows = await list.toArray().catch((error) => error);
  const { code, message } = rows as { code?: string; message?: string };
  return {
    code,
    message,
    rows: Array.isArray(rows) ? rows.map(({ cursor }) => Number(cursor)) : undefined,
    calls: end.arrived.length,
    list,
  };
}

const nothings = { "data: null": ok(null), "data: {}": ok({}), "data: {data: null}": ok({ data: null }) };
const numbersTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

for (const [what, nothing] of Object.entries(nothings)) {
  Deno.test(`page 3 of a longer list with ${what} is an error, once or always`, async () => {
    const once = await readJournal(
      10,
      (page, { body }) => body.params.queryParamStr === "8" ? nothing : page,
    );
    assertEquals(once.code, "page-missing");
    assertEquals(
      once.message,
      "Cannot read fundJournal.history to its end: page 3 came without rows, although more rows follow",
    );
    for (const cap of [4, 3]) {
      const always = await readJournal(
        10,
        (page, { body }) => Number(body.params.queryParamStr) >= 6 ? nothing : page.slice(0, cap),
      );
      assertEquals([always.code, always.list.isComplete], ["page-missing", false], `${cap} rows a page`);
    }
  });

  Deno.test(`a server that sends ${what} for every empty list is read correctly`, async () => {
    for (const count of [1, 3, 4, 8, 10]) {
      const { rows, list } = await readJournal(count, (page) => page.length === 0 ? nothing : page);
      assertEquals([rows, list.isComplete, list.unproven], [numbersTo(count), true, undefined]);
    }
    // If the account has no row at all, no page proves that there is a list. Only an omitted member then counts as an
    // empty list.
    const { rows, code, list } = await readJournal(0, () => nothing);
    const isLeftOut = what === "data: {}";
    assertEquals([rows, code], isLeftOut ? [[], undefined] : [undefined, "no-answer"]);
    assertEquals(list.isComplete, isLeftOut);
    assertEquals(list.unproven?.startsWith("the answer contains no list"), isLeftOut ? true : undefined);
  });
}

Deno.test("a server with smaller pages than requested returns every row", async () => {
  for (const cap of [1, 2, 3]) {
    const { rows, list } = await readJournal(50, (page) => page.slice(0, cap));
    assertEquals([rows, list.isComplete, list.unproven], [numbersTo(50), true, undefined]);
  }
  // The same with a server that accepts only the cursor of a page's last row.
  const pages = new Map<unknown, number>([["0", 0]]);
  const strict = await readJournal(50, (page, { body }) => {
    const given = pages.has(body.params.queryParamStr) ? page.slice(0, 3) : [];
    const { queryParamStr } = (given.at(-1) ?? {}) as { queryParamStr?: string };
    if (queryParamStr !== undefined) pages.set(queryParamStr, given.length);
    return given;
  });
  assertEquals([strict.rows, strict.list.unproven], [numbersTo(50), undefined]);
});

Deno.test("a list that becomes empty while it is read, as at midnight, is detected", async () => {
  for (const [rows, whole] of [[8, 2], [6, 2], [3, 1]]) {
    let calls = 0;
    const { code } = await readJournal(rows!, (page) => ++calls > whole! ? [] : page);
    assertEquals(code, "list-emptied", `${rows} rows`);
  }
});

Deno.test("rows added at the start of a list are detected, and identical rows are not mistaken for them", async () => {
  let added = 0;
  const row = (index: number, name = index) => ({
    stockCode: "AAPL",
    entrustBs: "1",
    entrustId: `${name}`,
    queryParamStr: `${index}`,
  });
  await using end = farEnd(({ body }) => {
    const { queryParamStr, queryCount } = body.params;
    const start = Number(queryParamStr);
    const all = Array.from({ length: 20 + added }, (_, index) => row(index + 1, index - added));
    if (start === 8 && added === 0) added = 2;
    return ok({ data: all.slice(start, start + Number(queryCount)) });
  });
  await using client = await connect({ gateway: end.url });
  const list = client.orders.today({ market: "us", limit: 4 });
  assertEquals((await list.toArray()).map(({ orderId }) => Number(orderId)), numbersTo(22).map((n) => n - 3));
  added = 0;
  const seen: unknown[] = [];
  const error = await assertRejects(async () => {
    for await (const { orderId } of list) seen.push(orderId);
  }, ProtocolError);
  assertEquals([error.code, new Set(seen).size, list.isComplete], ["list-changed", seen.length, false]);

  // Rows with the same amount, such as equal fees of many orders, are not mistaken for added rows.
  const { rows } = await readJournal(
    50,
    (page) => page.map((each) => ({ ...each as Record<string, string>, businessBalance: "-15.00" })),
  );
  assertEquals(rows, numbersTo(50));
});

Deno.test("alternating pages are detected at the third page, with paging by cursor and by number", async () => {
  const rows = (page: number, count: number) =>
    Array.from(
      { length: count },
      (_, index) => ({
        stockCode: "AAPL",
        entrustBs: "1",
        entrustId: `${page}-${index}`,
        orderId: `${page}-${index}`,
      }),
    );
  await using end = farEnd(({ body }) => {
    const { pageNo, queryParamStr, queryCount, pageSize } = body.params;
    const most = Number(queryCount ?? pageSize);
    const start = Number(queryParamStr ?? (Number(pageNo) - 1) * most);
    const page = rows(Math.floor(start / most) % 2, most);
    return pageNo === undefined
      ? ok({ data: page.map((row, index) => ({ ...row, queryParamStr: `${start + index + 1}` })) })
      : ok({ algoOrderList: page });
  });
  await using client = await connect({ gateway: end.url });
  const lists = [
    client.orders.history({ market: "us", ...range, limit: 50 }),
    client.algo.list({ ...range, limit: 50 }),
  ];
  for (const list of lists) {
    const before = end.arrived.length;
    const error = await assertRejects(() => list.toArray(), ProtocolError);
    assertEquals([error.code, end.arrived.length - before], ["page-repeated", 3]);
  }
});

Deno.test("orders requested by id arrive in one answer, even if they are more than a page", async () => {
  const all = Array.from(
    { length: 100 },
    (_, index) => ({
      stockCode: "AAPL",
      entrustBs: "1",
      entrustId: `${index}`,
      queryParamStr: `${index + 1}`,
    }),
  );
  await using end = farEnd(() => ok({ data: all }));
  await using client = await connect({ gateway: end.url });
  const orderIds = all.map(({ entrustId }) => entrustId);
  const list = client.orders.today({ market: "us", orderIds });
  assertEquals([(await list.toArray()).length, end.arrived.length, list.isComplete], [100, 1, true]);
});

Deno.test("a broker that rejects the query after the last row leaves the end unproven", async () => {
  const refusing = await readJournal(
    3,
    (page, { body }) => body.params.queryParamStr === "0" ? page : refused("1016 invalid parameter"),
  );
  assertEquals([refusing.rows, refusing.list.isComplete], [[1, 2, 3], true]);
  assertEquals(
    refusing.list.unproven,
    "the broker rejected the query for further rows (Cannot complete fundJournal.history: 1016 invalid parameter)",
  );
});

Deno.test("a missing page is an error if the server itself counts more pages", async () => {
  const row = (id: number) => ({ condOrderId: String(id), stockCode: "00700.HK" });
  const answers: Record<string, (page: number) => unknown> = {
    "page-missing": (page) => ({ data: page === 2 ? [] : [row(page)], curPageNo: page, totalPages: 3 }),
    "list-changed": (page) => ({ data: page < 3 ? [row(page)] : [], curPageNo: page, totalPages: 4 - page }),
  };
  for (const [code, answer] of Object.entries(answers)) {
    await using end = farEnd(({ body }) => ok(answer(Number(body.params.pageNo))));
    await using client = await connect({ gateway: end.url });
    const list = client.conditionalOrders.today({ market: "hk", limit: 1 });
    const error = await assertRejects(() => list.toArray(), ProtocolError);
    assertEquals([error.code, list.isComplete], [code, false]);
  }
});

Deno.test("a rejection in the middle of paging keeps its class", async () => {
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

Deno.test("every operation with a cursor returns rows that have one", () => {
  for (const { name, paging, response } of operations.values()) {
    if (paging?.style !== "cursor") continue;
    assertEquals([name, response.fields?.rows?.type.fields?.cursor?.wire], [name, "queryParamStr"]);
  }
});
