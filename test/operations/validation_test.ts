import { assertEquals } from "@std/assert";
import { InvalidParamsError, type Issue } from "../../lib/errors.ts";
import { account } from "../../lib/operations/account.ts";
import { algo } from "../../lib/operations/algo.ts";
import { conditionalOrders } from "../../lib/operations/conditional_orders.ts";
import { fills } from "../../lib/operations/fills.ts";
import { fundJournal } from "../../lib/operations/fund_journal.ts";
import { futures } from "../../lib/operations/futures.ts";
import { operations } from "../../lib/operations/mod.ts";
import {
  type AnyOperation,
  encodeParams,
  normalizeParams,
  type Params,
  type Result,
  type Row,
} from "../../lib/operations/operation.ts";
import { orders } from "../../lib/operations/orders.ts";
import { platform } from "../../lib/operations/platform.ts";
import { quotes } from "../../lib/operations/quotes.ts";

const pure = { permissions: "none" } as const;

function issuesOf(operation: AnyOperation, params: unknown): Issue[] {
  const issues: Issue[] = [];
  operation.request.check(params, [], issues);
  return issues;
}

/** Returns each issue as "path: expected". */
const short = (operation: AnyOperation, params: unknown) =>
  issuesOf(operation, params).map(({ path, expected }) => `${path.join(".")}: ${expected}`);

const limitOrder = {
  market: "hk",
  symbol: "00700.HK",
  quantity: "100",
  price: "350.20",
  side: "buy",
  orderType: "limit",
} as const;
const stopOrder = {
  market: "us",
  symbol: "AAPL",
  quantity: "10",
  side: "sell",
  orderType: "stop-loss-market",
  validDays: 30,
  triggerValue: "180",
} as const;
const iceberg = {
  ...limitOrder,
  market: "us",
  symbol: "AAPL",
  orderType: "iceberg-limit",
  displayQuantity: "10",
} as const;

Deno.test("orders.place accepts an ordinary, an iceberg, a market and a conditional order", pure, () => {
  assertEquals(short(orders.place, limitOrder), []);
  assertEquals(short(orders.place, iceberg), []);
  assertEquals(short(orders.place, { ...iceberg, displayQuantity: "100" }), []);
  assertEquals(short(orders.place, { ...iceberg, displayQuantity: "100.00" }), []);
  assertEquals(
    short(orders.place, { ...limitOrder, market: "us", symbol: "AAPL", orderType: "market", price: "0" }),
    [],
  );
  assertEquals(short(orders.place, stopOrder), []);
  assertEquals(short(orders.place, { ...stopOrder, validDays: 100 }), []);
  assertEquals(
    short(orders.place, {
      ...stopOrder,
      orderType: "trailing-stop-limit",
      price: "1",
      trailBy: "percentage",
      tradingHours: "us-regular-and-extended",
    }),
    [],
  );
});

Deno.test("orders.place rejects orders that the broker's rules forbid", pure, () => {
  const rows: [unknown, string[]][] = [
    [{ ...iceberg, displayQuantity: "101" }, [
      'displayQuantity: a display quantity above zero and at most "100"',
    ]],
    [{ ...iceberg, displayQuantity: undefined }, [
      'displayQuantity: a display quantity above zero and at most "100"',
    ]],
    [{ ...iceberg, displayQuantity: "0" }, ['displayQuantity: a decimal above zero as text, such as "100"']],
    [{ ...limitOrder, displayQuantity: "10" }, [
      "displayQuantity: no value, because this is not an iceberg order",
    ]],
    [{ ...stopOrder, validDays: 101 }, ["validDays: a whole number from 1 to 100"]],
    [{ ...stopOrder, validDays: 0 }, ["validDays: a whole number from 1 to 100"]],
    [{ ...stopOrder, validDays: undefined }, [
      "validDays: a whole number from 1 to 100 for a conditional order",
    ]],
    [{ ...stopOrder, triggerValue: undefined }, [
      "triggerValue: a price, spread or percentage for a conditional order",
    ]],
    [{ ...stopOrder, orderType: "trailing-stop-market" }, [
      'trailBy: "percentage" or "spread" for a trailing order',
    ]],
    [{ ...stopOrder, trailBy: "spread" }, ["trailBy: no value, because this is not a trailing order"]],
    [{ ...stopOrder, orderType: "trailing-stop-market", trailBy: "price" }, [
      'trailBy: one of "percentage", "spread"',
    ]],
    [{ ...stopOrder, tradingHours: "extended" }, [
      'tradingHours: one of "regular", "hk-regular-and-dark", "us-regular-and-extended" for a conditional order',
    ]],
    [{ ...limitOrder, tradingHours: "regular" }, [
      'tradingHours: one of "no-extended", "extended" for an ordinary order',
    ]],
    [{ ...limitOrder, validDays: 3, triggerValue: "1" }, [
      "triggerValue: no value, because this is not a conditional order",
      "validDays: no value, because this is not a conditional order",
    ]],
    [{ ...limitOrder, price: undefined }, ['price: a price; a market order sends "0"']],
    [{ ...limitOrder, price: "0" }, ['price: a price above zero for a "limit" order']],
    [{ ...limitOrder, price: "0e5" }, ['price: a price above zero for a "limit" order']],
    [{ ...limitOrder, price: "-1" }, ['price: a decimal of zero or more as text, such as "350.20"']],
    [{ ...limitOrder, quantity: "0" }, ['quantity: a decimal above zero as text, such as "100"']],
    [{ ...limitOrder, quantity: "-100" }, ['quantity: a decimal above zero as text, such as "100"']],
    [{ ...limitOrder, quantity: 100 }, ['quantity: a decimal above zero as text, such as "100"']],
    [{ ...limitOrder, quantity: "1,000" }, ['quantity: a decimal above zero as text, such as "100"']],
    [{ ...limitOrder, symbol: "00700" }, [
      'symbol: a Hong Kong code with its suffix, such as "00700.HK"',
    ]],
    [{ ...limitOrder, venue: "ARCA" }, ["venue: no value outside the US market"]],
    [{ ...limitOrder, market: "shanghai", symbol: "600000", orderType: "auction" }, [
      'orderType: one of "limit" in market "shanghai"',
    ]],
    [{ ...limitOrder, orderType: "market", price: "0" }, [
      'orderType: one of "auction-limit", "auction", "enhanced-limit", "limit", "special-limit", "dark-pool", ' +
      '"odd-lot" in market "hk"',
    ]],
    [{ ...stopOrder, market: "hk", symbol: "00700.HK" }, [
      'orderType: one of "take-profit-limit", "stop-loss-limit", "trailing-stop-limit" in market "hk"',
    ]],
    [{ ...limitOrder, market: "mars" }, ['market: one of "hk", "us", "shenzhen", "shanghai"']],
    [{ ...limitOrder, market: "unlisted:Z" }, ['market: one of "hk", "us", "shenzhen", "shanghai"']],
    [null, [": an object of parameters"]],
    [[limitOrder], [": an object of parameters"]],
  ];
  for (const [params, expected] of rows) assertEquals(short(orders.place, params), expected);
});

Deno.test(
  "orders.place lists several issues at once, each with path, value and what is allowed",
  pure,
  () => {
    const given = {
      market: "hk",
      symbol: "00700.HK",
      quantity: "ten",
      side: "hold",
      orderType: "limit",
      prise: 5,
    };
    const issues = issuesOf(orders.place, given);
    assertEquals(issues, [
      {
        path: ["prise"],
        value: 5,
        expected:
          "only market, symbol, quantity, price, side, orderType, clientType, venue, tradingHours, displayQuantity, " +
          "validDays, triggerValue, trailBy",
      },
      { path: ["quantity"], value: "ten", expected: 'a decimal above zero as text, such as "100"' },
      { path: ["side"], value: "hold", expected: 'one of "buy", "sell", "short-close", "short-open"' },
      { path: ["price"], value: undefined, expected: 'a price; a market order sends "0"' },
    ]);
    assertEquals(
      new InvalidParamsError("place order", issues.slice(1, 3)).message,
      "Cannot place order: 2 issues\n" +
        'quantity: expected a decimal above zero as text, such as "100", got "ten"\n' +
        'side: expected one of "buy", "sell", "short-close", "short-open", got "hold"',
    );
  },
);

Deno.test("a mistake in one parameter does not hide a mistake in a combination of parameters", pure, () => {
  const issues = issuesOf(orders.place, {
    market: "hk",
    symbol: "00700",
    quantity: "100",
    price: "-1",
    side: "buy",
    orderType: "trailing-stop-limit",
    displayQuantity: "200",
    validDays: 101,
    tradingHours: "extended",
  });
  assertEquals(issues.map(({ path }) => path.join(".")).sort(), [
    "displayQuantity",
    "price",
    "symbol",
    "tradingHours",
    "trailBy",
    "triggerValue",
    "validDays",
  ]);
});

Deno.test("orders.amend requires a price, and for a conditional order its condition", pure, () => {
  const amendment = { market: "us", symbol: "AAPL", orderId: "7", quantity: "10" } as const;
  assertEquals(short(orders.amend, { ...amendment, price: "1" }), []);
  assertEquals(short(orders.amend, amendment), ["price: the new price"]);
  assertEquals(short(orders.amend, { ...amendment, orderType: "stop-loss-market" }), [
    "triggerValue: a price, spread or percentage for a conditional order",
  ]);
  assertEquals(short(orders.amend, { ...amendment, orderType: "stop-loss-market", triggerValue: "1" }), []);
});

Deno.test("orders.cancelMany rejects an empty list, because the broker would cancel all orders", pure, () => {
  assertEquals(short(orders.cancelMany, { market: "hk", orderIds: [] }), [
    "orderIds: a list of at least 1 item",
  ]);
  assertEquals(short(orders.cancelMany, { market: "hk" }), ["orderIds: a list of at least 1 item"]);
  assertEquals(short(orders.cancelMany, { market: "hk", orderIds: ["1", ""] }), [
    "orderIds.1: an order number as text",
  ]);
  assertEquals(short(orders.cancelMany, { market: "hk", orderIds: ["1"] }), []);
  assertEquals(encodeParams(orders.cancelMany, { market: "hk", orderIds: ["1"] }), {
    exchangeType: "K",
    entrustId: ["1"],
  });
  assertEquals(encodeParams(orders.cancelAll, { market: "shanghai" }), { exchangeType: "t", entrustId: [] });
  assertEquals(short(orders.cancelAll, { market: "hk", orderIds: ["1"] }), ["orderIds: only market"]);
});

Deno.test("orders.today accepts at most 100 order ids, and pages of 1 to 99 rows", pure, () => {
  const ids = (count: number) => Array.from({ length: count }, (_, index) => `${index}`);
  assertEquals(short(orders.today, { market: "hk", orderIds: ids(100) }), []);
  assertEquals(issuesOf(orders.today, { market: "hk", orderIds: ids(101) }), [
    { path: ["orderIds"], value: "101 items", expected: "a list of 1 to 100 items" },
  ]);
  assertEquals(short(orders.today, { market: "hk", limit: 99 }), []);
  for (const limit of [100, 0, 1.5, "20"]) {
    assertEquals(short(orders.today, { market: "hk", limit }), ["limit: a whole number from 1 to 99"]);
    assertEquals(short(conditionalOrders.today, { market: "hk", limit }), [
      "limit: a whole number from 1 to 99",
    ]);
  }
});

Deno.test("history queries reject a day that does not exist and a reversed range", pure, () => {
  const day = 'a date that exists, such as "2025-08-15"';
  for (const from of ["2025-02-30", "2025-13-01", "2025-8-5", "20250805", "2023-02-29"]) {
    assertEquals(short(fills.history, { market: "us", from, to: "2025-12-31" }), [`from: ${day}`]);
  }
  assertEquals(short(fills.history, { market: "us", from: "2024-02-29", to: "2024-02-29" }), []);
  assertEquals(short(fills.history, { market: "us", from: "2025-08-16", to: "2025-08-15" }), [
    'to: a day that is not before "2025-08-16"',
  ]);
  assertEquals(
    short(conditionalOrders.history, {
      market: "hk",
      from: "2025-02-30 09:30:00",
      to: "2025-03-01 24:00:00",
    }),
    [
      'from: a date that exists with a time, such as "2025-08-15 09:30:05"',
      'to: a date that exists with a time, such as "2025-08-15 09:30:05"',
    ],
  );
});

Deno.test("quotes.bars enforces the day limit of each minute interval", pure, () => {
  const security = { type: "hk-stock", symbol: "00700.HK" };
  const query = (interval: string, limit: number) =>
    short(quotes.bars, { security, start: "2025-08-15", interval, limit });
  const limits: [string, number][] = [
    ["1m", 6],
    ["3m", 9],
    ["5m", 12],
    ["15m", 24],
    ["30m", 36],
    ["60m", 60],
    ["120m", 96],
  ];
  for (const [interval, days] of limits) {
    assertEquals(query(interval, days), []);
    assertEquals(query(interval, days + 1), [
      `limit: at most ${days} days of ${interval} bars in one request`,
    ]);
  }
  assertEquals(query("day", 1500), []);
  assertEquals(query("day", 1501), ["limit: a whole number from 1 to 1500"]);
});

Deno.test("quotes report the inner path, and reject a market that a query does not support", pure, () => {
  assertEquals(
    short(quotes.latest, {
      securities: [{ type: "us-stock", symbol: "AAPL" }, { type: "us-stok", code: "X" }],
    })
      .map((line) => line.slice(0, 40)),
    [
      "securities.1.code: only type, symbol",
      'securities.1.type: one of "hk-stock", "h',
      'securities.1.symbol: a listing code such as "00700.HK"'.slice(0, 40),
    ],
  );
  assertEquals(short(quotes.brokers, { security: { type: "us-stock", symbol: "AAPL" } }), [
    "security: a Hong Kong security",
  ]);
  assertEquals(short(quotes.orderBook, { security: { type: "us-otc-stock", symbol: "TCEHY" } }), [
    "security: a security that is not OTC",
  ]);
});

Deno.test("algo.place requires the settings of its strategy", pure, () => {
  const order = {
    market: "hk",
    symbol: "00700.HK",
    side: "buy",
    orderType: "limit",
    price: "350",
    quantity: "1000",
    strategy: "vwap",
    settings: {},
  } as const;
  assertEquals(short(algo.place, order), []);
  assertEquals(short(algo.place, { ...order, strategy: "iceberg" }), [
    "settings: settings with a displayQuantity for the iceberg strategy",
  ]);
  assertEquals(short(algo.place, { ...order, strategy: "iceberg", settings: { displayQuantity: "1001" } }), [
    'settings: settings with a displayQuantity of at most "1000"',
  ]);
  assertEquals(short(algo.place, { ...order, strategy: "pov" }), [
    "settings: settings with a percent from 1 to 99 for the pov strategy",
  ]);
  assertEquals(short(algo.place, { ...order, strategy: "pov", settings: { percent: 100 } }), [
    "settings.percent: a whole number from 1 to 99",
  ]);
  assertEquals(short(algo.place, { ...order, side: "short-open" }), ['side: one of "buy", "sell"']);
  assertEquals(short(algo.place, { ...order, price: "0.00" }), [
    'price: a price above zero for a "limit" order',
  ]);
  assertEquals(short(algo.place, { ...order, orderType: "market", price: "0" }), []);
});

Deno.test("futures.place accepts a last day only with the validity until-date", pure, () => {
  const order = {
    symbol: "MHIZ5.HK",
    price: "20000",
    quantity: "1",
    side: "buy",
    orderType: "limit",
    validity: "day",
  } as const;
  assertEquals(short(futures.place, order), []);
  assertEquals(short(futures.place, { ...order, validity: "until-date" }), [
    "validUntil: the last day of the order",
  ]);
  assertEquals(short(futures.place, { ...order, validUntil: "2025-12-30" }), [
    'validUntil: no value, because the validity is "day"',
  ]);
});

Deno.test("futures.place accepts the price zero only for an order at the market's price", pure, () => {
  const order = { symbol: "MHIZ5.HK", quantity: "1", side: "buy", validity: "day", price: "0" } as const;
  assertEquals(short(futures.place, { ...order, orderType: "limit" }), [
    'price: a price above zero for a "limit" order',
  ]);
  assertEquals(short(futures.place, { ...order, orderType: "market" }), []);
});

/** The limits of each bounded parameter from the API document: operation, path, minimum, maximum. */
const BOUNDS: readonly [AnyOperation, path: string, least: number, most: number][] = [
  [orders.place, "validDays", 1, 100],
  [orders.amend, "validDays", 1, 100],
  [orders.today, "limit", 1, 99],
  [orders.history, "limit", 1, 99],
  [fills.today, "limit", 1, 99],
  [fills.history, "limit", 1, 99],
  [fundJournal.today, "limit", 1, 99],
  [fundJournal.history, "limit", 1, 99],
  [conditionalOrders.today, "page", 1, 1_000_000],
  [conditionalOrders.today, "limit", 1, 99],
  [conditionalOrders.history, "page", 1, 1_000_000],
  [conditionalOrders.history, "limit", 1, 99],
  [algo.place, "settings.percent", 1, 99],
  [algo.place, "settings.intervalSec", 1, 86_400],
  [algo.amend, "settings.percent", 1, 99],
  [algo.amend, "settings.intervalSec", 1, 86_400],
  [algo.list, "page", 1, 1_000_000],
  [algo.list, "limit", 1, 99],
  [futures.ordersHistory, "page", 1, 1_000_000],
  [futures.ordersHistory, "limit", 1, 99],
  [futures.fillsHistory, "page", 1, 1_000_000],
  [futures.fillsHistory, "limit", 1, 99],
  [quotes.ticks, "limit", 1, 1000],
  [quotes.bars, "limit", 1, 1500],
];

Deno.test("every bounded number accepts both limits and nothing beyond them", pure, () => {
  for (const [operation, path, least, most] of BOUNDS) {
    const wrong = (value: number) => {
      const params = path.split(".").reduceRight<unknown>((inner, key) => ({ [key]: inner }), value);
      // Other fields are missing on purpose; only the issues of this field are checked.
      return short(operation, params).filter((line) => line.startsWith(`${path}: a whole number`));
    };
    const expected = [`${path}: a whole number from ${least} to ${most}`];
    assertEquals([wrong(least), wrong(most)], [[], []], `${operation.name} ${path}`);
    for (const value of [least - 1, most + 1, least + 0.5, -most]) {
      assertEquals(wrong(value), expected, `${operation.name} ${path} ${value}`);
    }
  }
});

Deno.test("BOUNDS lists every bounded number of the catalogue", pure, () => {
  const bounded = (operation: AnyOperation) => {
    const found: string[] = [];
    const walk = (fields: Readonly<Record<string, { type: unknown }>>, path: string) => {
      for (const [name, { type }] of Object.entries(fields)) {
        // The name of a value type contains its bounds, and a record has fields.
        const { name: kind, fields: inner } = type as { name?: string; fields?: typeof fields };
        if (inner !== undefined) walk(inner, `${path}${name}.`);
        else if (/^whole number -?\d/.test(kind ?? "")) found.push(`${operation.name} ${path}${name}`);
      }
    };
    walk(operation.request.fields ?? {}, "");
    return found;
  };
  const named = BOUNDS.map(([operation, path]) => `${operation.name} ${path}`);
  assertEquals([...operations.values()].flatMap(bounded).sort(), named.sort());
});

Deno.test("lists accept as many entries as the broker, and not one more", pure, () => {
  const rows: [AnyOperation, path: string, most: number, of: (index: number) => unknown][] = [
    [orders.today, "orderIds", 100, (index) => `${index}`],
    [quotes.subscribe, "securities", 200, (index) => ({ type: "us-stock", symbol: `A${index}` })],
  ];
  for (const [operation, path, most, of] of rows) {
    const wrong = (count: number) =>
      short(operation, { [path]: Array.from({ length: count }, (_, index) => of(index)) })
        .filter((line) => line.startsWith(`${path}: `)).length;
    assertEquals([wrong(0), wrong(1), wrong(most), wrong(most + 1)], [1, 0, 0, 1], operation.name);
  }
});

Deno.test("the errors of both logins show no given value, even under a misspelt name", pure, () => {
  const rows = [
    issuesOf(account.login, { password: "" }),
    issuesOf(account.login, { password: 7391824 }),
    issuesOf(account.login, { passwort: "hunter2" }),
    issuesOf(account.login, "hunter2"),
    issuesOf(platform.login, { country: "HKG", mobile: 91234567, password: ["hunter2"], deviceId: "x" }),
  ];
  for (const issues of rows) {
    const { message } = new InvalidParamsError("log in", issues);
    assertEquals(/hunter2|7391824|91234567/.test(message), false, message);
    assertEquals(issues.length > 0, true);
  }
  assertEquals(rows[1], [{ path: ["password"], value: "[secret]", expected: "text that is not empty" }]);
});

Deno.test("encodeParams() returns wire names, codes and fallbacks", pure, () => {
  assertEquals(encodeParams(orders.place, { ...limitOrder, side: "short-open" }), {
    exchangeType: "K",
    stockCode: "00700.HK",
    entrustAmount: "100",
    entrustPrice: "350.20",
    entrustBs: "4",
    entrustType: "3",
    clientType: 0,
  });
  assertEquals(encodeParams(orders.place, stopOrder), {
    exchangeType: "P",
    stockCode: "AAPL",
    entrustAmount: "10",
    entrustBs: "2",
    entrustType: "34",
    clientType: 0,
    validDays: "30",
    condValue: "180",
  });
  assertEquals(encodeParams(fills.history, { market: "us", from: "2025-08-01", to: "2025-08-15" }), {
    exchangeType: "P",
    startDate: "20250801",
    endDate: "20250815",
    queryCount: 20,
    queryParamStr: "0",
  });
  assertEquals(
    encodeParams(conditionalOrders.history, {
      market: "us",
      from: "2025-08-01 00:00:00",
      to: "2025-08-15 23:59:59",
      limit: 50,
    }),
    {
      exchangeType: "P",
      startTime: "2025-08-01 00:00:00",
      endTime: "2025-08-15 23:59:59",
      pageNo: "1",
      pageSize: "50",
    },
  );
  const security = { type: "us-stock", symbol: "AAPL" };
  assertEquals(
    encodeParams(quotes.latest, { securities: [security], delayed: "yes", session: "pre-market" }),
    { security: [{ dataType: 20000, code: "AAPL" }], needDelayFlag: "1", mktTmType: -1 },
  );
  assertEquals(
    encodeParams(quotes.bars, { security, start: "2025-08-15", interval: "60m", limit: 10 }),
    {
      security: { dataType: 20000, code: "AAPL" },
      startDate: 20250815,
      direction: 1,
      exRightFlag: 0,
      cycType: 9,
      limit: 10,
    },
  );
  assertEquals(encodeParams(quotes.optionCodes, { underlying: "AAPL", expiry: "2025-08-15" }), {
    securityCode: "AAPL",
    expireDate: "2025/08/15",
  });
  assertEquals(
    encodeParams(algo.place, {
      ...limitOrder,
      strategy: "pov",
      settings: { startTime: "09:30:00", percent: 10, intervalSec: 60 },
    }),
    {
      exchangeType: "K",
      stockCode: "00700.HK",
      entrustBs: "1",
      entrustType: "1",
      entrustPrice: "350.20",
      entrustAmount: "100",
      targetStrategy: "1005",
      sessionType: "0",
      strategyParam: { origStartTime: "093000", origEndTime: "000000", qtyPercent: "10", interval: 60 },
    },
  );
});

Deno.test("encodeParams() returns amounts in plain digits with the given decimals", pure, () => {
  const sent = (quantity: string, price: string) => {
    const { entrustAmount, entrustPrice } = encodeParams(orders.place, { ...limitOrder, quantity, price });
    return [entrustAmount, entrustPrice];
  };
  assertEquals(sent("1e2", "+5"), ["100", "5"]);
  assertEquals(sent("100.", ".5"), ["100", "0.5"]);
  assertEquals(sent("100", "350.20"), ["100", "350.20"]);
});

Deno.test("normalizeParams() accepts the wire's spelling, ours and a mix of both", pure, () => {
  const fields = orders.place.request.fields!;
  const wire = {
    exchangeType: "K",
    stockCode: "00700.HK",
    entrustAmount: "100",
    entrustPrice: "350.20",
    entrustBs: "1",
    entrustType: "3",
  };
  assertEquals(normalizeParams(fields, wire), limitOrder);
  assertEquals(normalizeParams(fields, limitOrder), limitOrder);
  assertEquals(normalizeParams(fields, { market: "hk", entrustBs: "2", validDays: "30" }), {
    market: "hk",
    side: "sell",
    validDays: 30,
  });
  assertEquals(
    normalizeParams(quotes.bars.request.fields!, {
      security: { dataType: 10000, code: "00700.HK" },
      startDate: "20250815",
      direction: 0,
      cycType: "2",
      limit: 5,
    }),
    {
      security: { type: "hk-stock", symbol: "00700.HK" },
      start: "2025-08-15",
      direction: "older",
      interval: "day",
      limit: 5,
    },
  );
  // Unknown members stay, so that the next check can report them.
  assertEquals(normalizeParams(fields, { stockCod: "X" }), { stockCod: "X" });
  assertEquals(short(orders.place, normalizeParams(fields, { ...wire, entrustBs: "9" })), [
    'side: one of "buy", "sell", "short-close", "short-open"',
  ]);
  assertEquals(normalizeParams(fields, "text"), "text");
});

Deno.test("Params and Result follow from the catalogue", pure, () => {
  const order: Params<typeof orders.place> = limitOrder;
  // @ts-expect-error a quantity is a decimal as text, never a number
  const number: Params<typeof orders.place> = { ...limitOrder, quantity: 100 };
  // @ts-expect-error the broker's spelling is not accepted
  const spelling: Params<typeof orders.place> = { ...limitOrder, entrustBs: "1" };
  // @ts-expect-error a side is required
  const noSide: Params<typeof orders.place> = { ...limitOrder, side: undefined };
  // @ts-expect-error an unlisted code cannot be sent
  const unlisted: Params<typeof orders.place> = { ...limitOrder, side: "unlisted:9" };
  // @ts-expect-error algorithmic orders buy or sell, and nothing else
  const side: Params<typeof algo.place>["side"] = "short-open";
  // @ts-expect-error `trailBy` of a request accepts only "percentage" and "spread"
  const trail: Params<typeof orders.place>["trailBy"] = "price";

  const answered: Result<typeof orders.place> = { orderId: "1" };
  const read: Row<typeof orders.today>["side"] = "unlisted:9"; // answers may contain unlisted codes
  // @ts-expect-error a price may be absent from an answer
  const price: string = ({} as Row<typeof orders.today>).price;
  // @ts-expect-error the field does not exist
  ({} as Row<typeof fills.today>).entrustPrice;
  // @ts-expect-error a number may be absent too: a missing value is not zero
  const volume: string = ({} as Row<typeof quotes.latest>).volume;
  const page: Row<typeof conditionalOrders.today>["orderId"] = "1"; // also for rows of a page
  assertEquals(
    [order, number, spelling, noSide, unlisted, side, trail, answered, read, price, volume, page].length,
    12,
  );
});
