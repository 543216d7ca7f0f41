import { assertEquals } from "@std/assert";
import { createClient } from "../../lib/client/client.ts";
import { fillFields } from "../../lib/operations/fills.ts";
import { futures } from "../../lib/operations/futures.ts";
import { orders } from "../../lib/operations/orders.ts";
import { eachUnknown, wireOf } from "../../lib/operations/wire_rows.ts";
import { memory } from "../../lib/transports/memory.ts";

const row =
  '{"stockCode":"AAPL","entrustBs":"1","entrustId":"8","entrustPrice":12345678901234567890.50,"matchNo":7}';
const params = { market: "us", from: "2025-08-15", to: "2025-08-15", limit: 3, cursor: "0" } as const;

/** A client whose every answer has this data. */
const answering = (data: string) => createClient(memory(() => `{"ok":true,"err":"","data":${data}}`));

Deno.test("wireOf() returns a row as the broker sent it to a call that asked for it, and to no other one", async () => {
  for (const data of [`{"data":[${row}]}`, `[${row}]`, `{"data":{"data":[${row}]}}`, row]) {
    await using client = answering(data);
    const [kept] = await client.call(orders.history, params, { keepWire: "members" });
    assertEquals([wireOf(kept!)?.matchNo, wireOf(kept!)?.stockCode], [7, "AAPL"], data);
    const [plain] = await client.call(orders.history, params);
    assertEquals(wireOf(plain!), undefined);
  }
});

Deno.test("wireOf() returns rows of lists with counters beside them", async () => {
  await using client = answering(`{"data":[${row}],"curPageNo":1,"lastPage":1}`);
  const range = { from: params.from, to: params.to, page: 1, limit: 3 };
  const { rows } = await client.call(futures.fillsHistory, range, { keepWire: "members" });
  assertEquals(rows.map((each) => wireOf(each)?.matchNo), [7]);
});

Deno.test("wireOf() keeps every digit of a number on request, and leaves our row as it is", async () => {
  await using client = answering(`[${row}]`);
  const [digits] = await client.call(orders.history, params, { keepWire: "digits" });
  assertEquals(JSON.stringify(wireOf(digits!)), row);
  const [plain] = await client.call(orders.history, params);
  assertEquals(JSON.stringify(digits), JSON.stringify(plain));
});

Deno.test("eachUnknown() names members that no field has, inner ones by their path, and no empty ones", () => {
  const found: [string, unknown][] = [];
  const wire = {
    stockCode: "AAPL",
    fareVo: { fare0: "1.00", fare10: "2.00", fare11: "" },
    matchNo: 7,
    tags: ["a"],
    linked: null,
    marks: [],
    more: {},
  };
  eachUnknown(fillFields, wire, (path, value) => found.push([path, value]));
  assertEquals(found, [["fareVo.fare10", "2.00"], ["matchNo", 7], ["tags", ["a"]]]);
});
