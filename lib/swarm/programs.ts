/**
 * Defines the programs of a world: a trader that uses `connect({ store })`, and schedulers with recipes.
 *
 * @module
 */
import { builtInCalendars } from "../calendars/mod.ts";
import type { Client } from "../client/client.ts";
import { type LimitTexts, readLimits } from "../client/limits.ts";
import { connect as connectOnly } from "../client/connect.ts";
import type { Decimal } from "../decimal.ts";
import { openTrading } from "../desk/trading.ts";
import { BrokerError, DisplacedError } from "../errors.ts";
import { lotSize } from "../facts/listings.ts";
import { tickTable } from "../facts/price_rules.ts";
import type { Order } from "../operations/public_types.ts";
import { type CompiledRecipe, compileRecipe } from "../recipes/mod.ts";
import { Redactor } from "../redact.ts";
import { refusedLoginOn, takenOverBy } from "../runner/claims/login_holds.ts";
import { Scheduler } from "../runner/schedule/scheduler.ts";
import { openSqlite } from "../store/sqlite.ts";
import { systemMachine, wait } from "../time.ts";
import { SqliteError } from "./disk.ts";
import type { Pace } from "./pace.ts";
import { liveStatuses, type Truth } from "./truth.ts";
import type { Process, World } from "./world.ts";

const MINUTE = 60_000;
/** Number of rows of a page of the trader's lists. It is small, so that these lists have several pages. */
const PAGE_ROWS = 5;
/**
 * After the faults have ended: the interval at which the trader's desk compares open intents with the broker's lists.
 */
const QUIET_READING_MS = 5 * MINUTE;

const limitsOf = ({ orderCap, dayCap }: Pace): LimitTexts => ({
  liveTrading: "allow",
  maxOrderValue: `${orderCap} HKD`,
  maxDayValue: `${dayCap} HKD`,
  priceCollar: "5%",
});

/** What the programs of a world share. */
export interface ProgramDeps {
  world: World;
  truth: Truth;
  pace: Pace;
  /** Path of the store. */
  store: string;
  /** Folder for files of recipes. */
  folder: string;
  recipes: readonly CompiledRecipe[];
  /** Whether no fault strikes any more. */
  isQuiet(): boolean;
  /** Called when the login of a scheduler was taken over or rejected. */
  onLoginLost(): void;
  /** Errors that no code has handled. */
  unhandled: unknown[];
}

/** The client of the trader. */
type Trader = Awaited<ReturnType<typeof openTrading>>;

/** Runs the trader: a program that trades with `connect({ store })`. */
export async function trade(process: Process, deps: ProgramDeps): Promise<void> {
  const { world, pace, truth, store, isQuiet, unhandled } = deps;
  const { random } = process;
  const options = truth.connectOptions();
  const connect = () => "direct" in options ? connectOnly(options) : connectOnly(options);
  const client = await openTrading(connect, options, {
    store,
    by: "trader",
    limits: limitsOf(pace),
    reconcileEveryMs: () => isQuiet() ? QUIET_READING_MS : pace.reconcileMs,
  });
  const report = (error: unknown) => {
    world.note(process, `error: ${error instanceof Error ? `${error.name} ${error.message}` : error}`);
    if (!(error instanceof BrokerError) && !(error instanceof SqliteError)) throw error;
    // The broker may still execute a login for which the program no longer waits. That login ends the program's
    // session. The program then dies, and its machine starts it again.
    if (error instanceof DisplacedError) process.kill();
  };
  const fail = (error: unknown) => {
    unhandled.push(error);
    process.kill();
  };
  void (async () => {
    for (;;) {
      try {
        for await (const _ of client.watch()) { /* the desk reads the lists by itself */ }
      } catch (error) {
        report(error);
      }
      await wait(systemMachine, MINUTE);
    }
  })().catch(fail);
  void (async () => {
    for (;;) {
      await wait(systemMachine, Math.floor(5 * MINUTE + (pace.readMs - 5 * MINUTE) * random()));
      await client.desk.reconcile({ markets: ["hk"] }).catch(report);
    }
  })().catch(fail);
  for (;;) {
    await wait(systemMachine, Math.floor(MINUTE + (pace.actMs - MINUTE) * random()));
    if (!pace.trading.some(({ from, to }) => from < world.now && world.now < to)) {
      if (pace.cancelsAtEnd) await cancelAll(client, deps).catch(report);
      const next = pace.trading.find(({ from }) => from > world.now);
      await wait(systemMachine, next === undefined ? 60 * MINUTE : next.from - world.now);
      continue;
    }
    try {
      await act(client, random, deps);
    } catch (error) {
      report(error);
    }
  }
}

/** Returns the open orders that any program of the world has placed, without the owner's orders. */
async function openOrders(client: Trader, { truth }: ProgramDeps): Promise<Order[]> {
  return (await client.orders.today({ market: "hk", limit: PAGE_ROWS }).toArray()).filter((
    { status, orderId },
  ) => liveStatuses.includes(status ?? "") && truth.orders.get(orderId)?.by === "desk");
}

async function cancelAll(client: Trader, deps: ProgramDeps): Promise<void> {
  for (const order of await openOrders(client, deps)) await cancelOrder(client, order);
}

/** Places, amends or cancels an order at random. */
async function act(client: Trader, random: () => number, deps: ProgramDeps): Promise<void> {
  const { world, truth, pace } = deps;
  const market = "hk" as const;
  const what = random();
  if (what > 0.65) {
    const open = await openOrders(client, deps);
    const order = open[Math.floor(random() * open.length)];
    if (order === undefined) return;
    if (what > 0.8) {
      await cancelOrder(client, order);
    } else {
      const { orderId, symbol, quantity = "0", price = "0", side } = order;
      const near = priceNear(Number(price), side === "buy" ? -0.01 : 0.01, world.now);
      await client.orders.amend({
        market,
        orderId,
        symbol,
        quantity,
        price: near,
        orderType: "enhanced-limit",
      });
    }
    return;
  }
  // Place an order with the same terms as an order of the owner that the lists already show.
  const foreign = [...truth.orders.values()].filter(({ by, side }) => by === "owner" && side === "buy");
  const like = foreign[Math.floor(random() * foreign.length)];
  if (like !== undefined && random() < 0.4) {
    const { symbol, price, quantity } = like;
    await client.orders.place({
      market,
      symbol,
      side: "buy",
      orderType: "enhanced-limit",
      price,
      quantity,
    });
    return;
  }
  const { symbols, distance, orderValue } = pace;
  const symbol = symbols[Math.floor(random() * symbols.length)]!;
  const [quote] = await client.quotes.latest({ securities: [{ type: "hk-stock", symbol }] });
  const last = Number(quote?.lastPrice ?? "0");
  if (last === 0) return;
  const holdings = await client.account.holdings({ market });
  const holding = holdings.find((each) => each.symbol === symbol);
  const isSell = random() < 0.4 && Number(holding?.sellableQuantity ?? 0) > 0;
  const offset = (random() - 0.5) * 2 * distance;
  const lot = Number(lots(symbol, 1, world.now));
  const most = Math.max(3, Math.floor(orderValue / (last * lot)));
  await client.orders.place({
    market,
    symbol,
    side: isSell ? "sell" : "buy",
    orderType: "enhanced-limit",
    price: priceNear(last, offset, world.now),
    quantity: lots(symbol, 1 + Math.floor(random() * most), world.now),
  });
}

/** Runs a scheduler with the recipes. */
export async function schedule(process: Process, deps: ProgramDeps): Promise<void> {
  const { world, truth, pace, recipes, folder } = deps;
  const store = await openSqlite(deps.store);
  const options = truth.connectOptions();
  let client: Promise<Client> | undefined;
  /** Whether the login of the connection was taken over or refused. */
  let isStale = false;
  const connected = async () => {
    const asOf = { now: world.now, needsAccount: true };
    const whyOut = await takenOverBy(store, truth.account) ??
      await refusedLoginOn(store, truth.account, asOf);
    if (isStale && whyOut === undefined) {
      isStale = false;
      await client?.then((each) => each.close(), () => {});
      client = undefined;
    }
    client ??= "direct" in options ? connectOnly(options) : connectOnly(options);
    client.catch(() => client = undefined);
    return await client;
  };
  const onLoginLost = () => {
    isStale = true;
    deps.onLoginLost();
  };
  const scheduler = new Scheduler({
    store,
    machine: systemMachine,
    calendars: () => builtInCalendars,
    holder: holderOf(process),
    recipes: recipes.filter(({ name }) => name !== (pace.isShort ? "look" : "look-rarely")),
    out: folder,
    redactor: new Redactor(),
    client: connected,
    onLoginLost,
    onEvent: (event) => {
      const isOut = event.type === "run-ended" &&
        (event.reason === "displaced" || event.reason === "login");
      if (isOut) onLoginLost();
    },
    limits: readLimits(limitsOf(pace)),
    accountOf: () => truth.account,
    secret: () => Promise.reject(new TypeError("a world has no secrets")),
    onSchedulerEvent: (event) => {
      if (event.type === "tick") return;
      // If the outcome of a run's write is unknown, the run ends with that reason, even if its login was lost too. Then
      // only `held` events show the loss of the login: the events of other runs, which that login blocks.
      if (event.type === "held" && ["displaced", "login"].includes(event.because)) deps.onLoginLost();
      const about = "runKey" in event ? ` ${event.runKey}` : "";
      const why = event.type === "error"
        ? ` ${event.error instanceof Error ? event.error.message : event.error}`
        : "";
      world.note(process, `scheduler ${event.type}${about}${why}`);
    },
    tickMs: 10 * MINUTE,
    pollMs: 5_000,
    ...pace.isShort && { retention: "everything" },
  });
  await scheduler.start();
}

async function cancelOrder(client: Trader, { orderId, symbol, quantity = "0", price = "0" }: Order) {
  await client.orders.cancel({ market: "hk", orderId, symbol, quantity, price, orderType: "enhanced-limit" });
}

/** Returns the name that a scheduler process has as the holder of its runs. */
export const holderOf = ({ name, number }: Pick<Process, "name" | "number">): string => `${name} ${number}`;

/** Returns the day of an instant in Hong Kong. */
export const hongKongDate = (at: number) => new Date(at + 8 * 3_600_000).toISOString().slice(0, 10);

/** Returns a price at a distance from another price, rounded to a tick. */
export function priceNear(last: number, offset: number, at: number): Decimal {
  const wanted = last * (1 + offset);
  const bands = tickTable("hk", hongKongDate(at));
  const band = bands.find(({ over, upTo }) =>
    wanted > Number(over) && (upTo === null || wanted <= Number(upTo))
  );
  const tick = band?.tick ?? "0.01";
  const digits = (tick.split(".")[1] ?? "").length;
  return (Math.round(wanted / Number(tick)) * Number(tick)).toFixed(digits);
}

/** Returns the quantity of a number of lots. */
export function lots(symbol: string, count: number, at: number): Decimal {
  return String(lotSize(symbol, hongKongDate(at)) * count);
}

/**
 * Compiles the recipes of the worlds: one buys, one cancels before the close, and two read the funds. A scheduler runs
 * only one of these two; in a short world the one with the longer interval.
 */
export async function swarmRecipes(): Promise<CompiledRecipe[]> {
  const order = {
    market: "hk",
    symbol: "00005.HK",
    quantity: "400",
    side: "buy",
    orderType: "enhanced-limit",
  };
  const recipe = (fields: { name: string; [field: string]: unknown }) =>
    compileRecipe(JSON.stringify(fields), `${fields.name}.json`);
  return await Promise.all([
    recipe({
      name: "buy-early",
      live: true,
      schedule: { id: "s1", calendar: "XHKG", at: "open+30m" },
      window: "XHKG.open+29m..XHKG.open+32m",
      steps: [
        {
          id: "quote",
          uses: "quotes.latest",
          with: { securities: [{ type: "hk-stock", symbol: "00005.HK" }] },
        },
        {
          id: "buy",
          uses: "orders.place",
          needs: ["quote"],
          with: { ...order, price: "${{ outputs.quote[0].lastPrice }}" },
        },
      ],
    }),
    recipe({
      name: "cancel-late",
      live: true,
      schedule: { id: "s1", calendar: "XHKG", at: "close-15m" },
      window: "XHKG.close-16m..XHKG.close-10m",
      steps: [{ id: "cancel", uses: "cancel-open-orders", with: { markets: ["hk"], side: "buy" } }],
    }),
    ...Object.entries({ look: "30m", "look-rarely": "2h" }).map(([name, every]) =>
      recipe({
        name,
        schedule: { id: "s1", every },
        steps: [{ id: "funds", uses: "account.funds", with: { market: "hk" } }],
      })
    ),
  ]);
}
