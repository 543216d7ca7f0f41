/**
 * Runs `hsgate orders` and `hsgate fills`.
 *
 * @module
 */
import { isDecimal, isZero } from "../../../lib/decimal.ts";
import { findOperation } from "../../../lib/operations/mod.ts";
import { Market } from "../../../lib/dictionaries/market.ts";
import { placeOf, zoneOfMarket } from "../../../lib/desk/broker_lists.ts";
import type { Intent } from "../../../lib/desk/intent.ts";
import { openIntents, ownedOrders, recentIntents } from "../../../lib/desk/queries.ts";
import { BrokerError } from "../../../lib/errors.ts";
import { marketsOf } from "../../terminal/arguments.ts";
import { exitCodeOf, UsageError } from "../../terminal/exit_codes.ts";
import type { Host } from "../../terminal/host.ts";
import { clockText, instantIn, utcText, ZONE_NAME } from "../../terminal/market_time.ts";
import { checkListColumns, listView, printList, refuseListFlags } from "../../terminal/list_output.ts";
import { type Column, cut, paint, plain, rowsTaken, shownWidth } from "../../terminal/print.ts";
import type { Fill } from "../../../lib/operations/fills.ts";
import type { FillsInput, OrdersInput } from "../orders.ts";
import {
  type AccountStore,
  connectDesk,
  openAccountStore,
  type OpenDesk,
  whyHalted,
} from "../shared/desk.ts";
import { clientOf, loadSettingsOf, settingsOf } from "../shared/session.ts";
import { openStore, storeExists } from "../shared/store_file.ts";
import { accountOf } from "../shared/desk.ts";
import { foreignRow, intentLines, orderColumns, orderLines, type OrderRow, rowOf } from "./rows.ts";
import { lineOf as lineOfEvent } from "../watch/board.ts";
import { isOpen } from "./words.ts";

const command = "orders";

/** Result of one reading of the broker's lists: the rows, and the error if the lists could not be read. */
interface OrderListing {
  rows: OrderRow[];
  error?: BrokerError;
  /** What a person must know to read the rows: that trading is halted, or that the broker's lists were not read. */
  warnings: readonly string[];
}

/** Lists the intents of the account together with the orders at the broker. */
export async function run({ flags, host }: OrdersInput): Promise<number> {
  const limit = flags.limit ?? "20";
  if (!/^([1-9]\d{0,2}|1000)$/.test(limit)) {
    throw new UsageError(`Cannot use --limit "${limit}": write a number from 1 to 1000`);
  }
  const view = listView(flags);
  checkListColumns(view, orderColumns());
  if (flags.watch) refuseListFlags(flags, "with --watch");
  const wanted = flags.markets === undefined ? undefined : marketsOf(flags.markets);
  const options = { host, command, writes: false };
  await using accountStore = await openAccountStore(flags, options);
  let open: OpenDesk | undefined;
  let failed: BrokerError | undefined;
  try {
    open = await connectDesk(accountStore, flags, options);
  } catch (error) {
    if (!(error instanceof BrokerError) || flags.watch) throw error;
    failed = error;
  }
  try {
    const list = async (): Promise<OrderListing> => {
      const halted = await whyHalted(accountStore, flags, host);
      const found = await readListing(accountStore, open, { host, limit: Number(limit), markets: wanted });
      if (halted === undefined) return found;
      const warning = `trading is halted: ${plain(halted)}; to continue, run: hsgate resume`;
      return { ...found, warnings: [warning, ...found.warnings] };
    };
    if (flags.watch && open !== undefined) {
      return await watch(open, list, { isJson: flags.json === true, host, limit: Number(limit) });
    }
    const { rows, error = failed, warnings } = await list();
    for (const warning of warnings) host.note(`hsgate: ${warning}`);
    const lines = () => linesOf(rows, { host, limit: Number(limit), columns: view.columns });
    printList(host, view, {
      columns: orderColumns(),
      rows,
      empty: "there are no intents and no orders",
      ...rows.length > 0 && { lines },
    });
    return error === undefined ? 0 : exitCodeOf(error);
  } finally {
    await open?.[Symbol.asyncDispose]();
  }
}

/** Returns the table. It shows at most `limit` ended orders from elsewhere. */
function linesOf(
  rows: readonly OrderRow[],
  { host, limit, columns }: { host: Host; limit: number; columns?: string | undefined },
): string[] {
  const ended = rows.filter(({ intent, orders }) => intent === null && !orders.some(isOpen));
  const left = new Set(ended.slice(limit));
  const lines = orderLines(rows.filter((row) => !left.has(row)), host, columns);
  const more = `(omitted: ${left.size} of the ended orders made elsewhere; --limit and --json show more)`;
  return left.size === 0 ? lines : [...lines, paint(host, "dim", more)];
}

/** Returns the lines of the rows that fit on the screen, because a terminal redraws only what it shows. */
function screenOf(
  { rows, warnings }: Pick<OrderListing, "rows" | "warnings">,
  { host, limit }: { host: Host; limit: number },
): string[] {
  const { columns, rows: height } = host.size();
  const around = [
    ...warnings.map((warning) => paint(host, "red", warning)),
    paint(host, "dim", "Ctrl-C stops"),
  ];
  let count = rows.length;
  for (;;) {
    const shown = linesOf(rows.slice(0, count), { host, limit });
    const below = count < rows.length
      ? [paint(host, "dim", `(${rows.length - count} more rows; a taller terminal shows them)`)]
      : [];
    const lines = [...shown, ...below, ...around];
    const excess = rowsTaken(lines.map(shownWidth), Math.max(1, columns)) - height;
    if (excess <= 0 || count <= 1) return lines;
    count = Math.max(1, count - excess);
  }
}

/**
 * Compares the open intents with the broker's lists. Returns the newest intents up to `limit`, every older
 * intent that is open, and the broker's orders without an intent.
 */
async function readListing(
  { store, account }: AccountStore,
  open: OpenDesk | undefined,
  { host, limit, markets }: { host: Host; limit: number; markets: readonly Market[] | undefined },
): Promise<OrderListing> {
  let found: Awaited<ReturnType<OpenDesk["desk"]["reconcile"]>> | undefined;
  let error: BrokerError | undefined;
  try {
    found = await open?.desk.reconcile({
      signal: host.signal,
      markets: markets ?? marketsIn(await openIntents(store, account)),
    });
  } catch (caught) {
    if (!(caught instanceof BrokerError)) throw caught;
    error = caught;
  }
  if (found === undefined) host.signal.throwIfAborted();
  const warning = `warning: the broker's lists could not be read, so this is only what the store knows${
    error === undefined ? "" : `: ${plain(error.message)}`
  }`;
  const seen = found?.seen ?? new Map();
  const missing = new Map(found?.unresolved.map(({ intent, missing }) => [intent.id, missing]));
  const intents = await recentIntents(store, account, { limit });
  const shown = new Set(intents.map(({ id }) => id));
  // An open intent is always shown, however old it is.
  const older = (await openIntents(store, account)).filter(({ id }) => !shown.has(id));
  const rows: OrderRow[] = [];
  for (const intent of [...intents, ...older]) {
    rows.push(await rowOf(store, intent, { seen, missing: missing.get(intent.id) }));
  }
  for (const order of found?.foreign.toReversed() ?? []) rows.push(foreignRow(order));
  return { rows, warnings: found === undefined ? [warning] : [], ...error !== undefined && { error } };
}

/** Returns Hong Kong, and the markets of intents. */
function marketsIn(intents: readonly Intent[]): Market[] {
  const found = intents.flatMap(({ operation, params }) => {
    const known = findOperation(operation);
    const market = known && placeOf(known, params).market;
    return market !== undefined && Market.has(market) ? [market] : [];
  });
  return [...new Set<Market>(["hk", ...found])];
}

/** Interval at which `--watch` reads the lists while no push arrives, milliseconds. */
const READ_MS = 60_000;
/** Wait after a push, milliseconds. Pushes of one order arrive in groups, and one reading is enough for a group. */
const GROUP_MS = 300;

/** Shows the rows again after each push of an order, and every minute, until Ctrl-C. */
async function watch(
  { client }: OpenDesk,
  list: () => Promise<OrderListing>,
  { isJson, host, limit }: { isJson: boolean; host: Host; limit: number },
): Promise<number> {
  const before = new Map<string, string>();
  let height = 0;
  let warnedBefore: readonly string[] = [];
  /** What is wrong with the stream of pushes. */
  let trouble: readonly string[] = [];
  let last: OrderListing | undefined;
  const show = (found: OrderListing) => {
    last = found;
    const { rows } = found;
    const warnings = [...found.warnings, ...trouble.map(plain)];
    if (!isJson && host.isTerminal) {
      const lines = screenOf({ rows, warnings }, { host, limit });
      host.draw(`${height > 1 ? `\x1b[${height - 1}A` : ""}\r\x1b[J`, lines.join("\n"));
      height = rowsTaken(lines.map(shownWidth), Math.max(1, host.size().columns));
      return;
    }
    for (const warning of warnings) if (!warnedBefore.includes(warning)) host.note(`hsgate: ${warning}`);
    warnedBefore = warnings;
    for (const row of rows.toReversed()) {
      const key = row.intent ?? `order ${row.orderIds[0]}`;
      const now = JSON.stringify([row.state, row.orderIds, row.filled, row.missing]);
      if (before.get(key) === now) continue;
      before.set(key, now);
      host.out(isJson ? JSON.stringify(row) : lineOf(row));
    }
  };
  let timer: ReturnType<typeof setTimeout> | undefined;
  let reading: Promise<void> | undefined;
  let failure: { error: unknown } | undefined;
  const ended = new AbortController();
  const signal = AbortSignal.any([host.signal, ended.signal]);
  let isStale = false;
  const read = () => {
    dueAt = Infinity;
    if (reading !== undefined) return;
    isStale = false;
    reading = list().then(show).catch((error) => {
      failure = { error };
      ended.abort();
    }).finally(() => {
      reading = undefined;
      // A push that arrived during the reading may be about a later change.
      if (!signal.aborted) plan(isStale ? GROUP_MS : READ_MS);
    });
  };
  let dueAt = Infinity;
  // If an earlier reading is planned already, keep that plan. Otherwise pushes that keep arriving would delay the
  // reading forever.
  const plan = (ms: number) => {
    const at = performance.now() + ms;
    if (at >= dueAt) return;
    dueAt = at;
    clearTimeout(timer);
    timer = setTimeout(read, ms);
  };
  if (!host.isTerminal) host.note("hsgate: watching; Ctrl-C stops");
  read();
  try {
    for await (const event of client.watch({ topics: [], securities: [], signal })) {
      if (event.type === "connection") {
        const line = lineOfEvent(event);
        // During a reconnection, keep the line that says since when nothing has arrived.
        trouble = line === undefined ? [] : [...event.state === "lost" ? [] : trouble.slice(0, 1), line];
        if (last !== undefined) show(last);
      }
      // A change between the first reading and the subscription has no push: read the lists again once pushes arrive.
      const isConnected = event.type === "connection" && event.state === "connected";
      const isOfOrder = event.type === "order" || event.type === "unknown" && event.expected === "order";
      if (!isConnected && !isOfOrder && event.type !== "gap") continue;
      isStale = true;
      plan(GROUP_MS);
    }
  } finally {
    ended.abort();
    clearTimeout(timer);
    await reading;
    clearTimeout(timer);
    if (height > 0) host.draw("\n");
  }
  if (failure !== undefined) throw failure.error;
  host.signal.throwIfAborted();
  host.note("hsgate: the stream has ended");
  return 4;
}

/** Returns a row as one line. */
function lineOf(row: OrderRow): string {
  const { intent, state, kind, side, quantity, symbol, price, orderIds, filled, missing } = row;
  const at = price === undefined || (isDecimal(price) && isZero(price)) ? undefined : `at ${price}`;
  const what = [kind, side, quantity, symbol, at]
    .filter((each) => each !== undefined).join(" ");
  const orders = orderIds.length === 0 ? "" : `  order ${orderIds.join(", ")}`;
  return cut(
    `${intent ?? "(elsewhere)"}  ${state}  ${what}${orders}  ${filled} filled${
      missing === undefined ? "" : `  missing: ${missing}`
    }`,
  );
}

type FillRow = Fill & { intent: string | null };

/** Returns when a fill happened. The broker writes its date and time in the time zone of the market. */
const filledAt = ({ market, date, fillTime }: Fill): number | undefined =>
  instantIn(zoneOfMarket(market), date, fillTime);

const fillColumns = (now: number) => (idLength = Infinity): Column<FillRow>[] => [
  {
    title: `time (${ZONE_NAME})`,
    name: "time",
    of: (fill) => {
      const at = filledAt(fill);
      return at === undefined ? fill.fillTime ?? "" : clockText(at, now);
    },
    exact: (fill) => utcText(filledAt(fill)),
  },
  { title: "symbol", id: true, of: ({ symbol }) => symbol },
  { title: "side", of: ({ side }) => side },
  { title: "quantity", of: ({ filledQuantity }) => filledQuantity, align: "right" },
  { title: "price", of: ({ fillPrice }) => fillPrice, align: "right" },
  { title: "order", id: true, of: ({ orderId }) => orderId ?? "" },
  { title: "intent", id: true, of: ({ intent }) => intent?.slice(0, idLength) ?? "(elsewhere)" },
];

/**
 * Without `--markets`, `fills` reads Hong Kong and the markets of intents up to this age, milliseconds.
 */
const RECENT_MS = 2 * 24 * 60 * 60 * 1000;

/** Lists today's fills. */
export async function fills({ flags, host }: FillsInput): Promise<number> {
  const view = listView(flags);
  checkListColumns(view, fillColumns(host.now())());
  let markets = marketsOf(flags.markets ?? "hk");
  const loaded = await settingsOf(flags, host);
  const owned = new Map<string, string>();
  if (await storeExists(flags, host)) {
    await using store = await openStore(flags, { host, mustExist: true });
    const account = await accountOf((await loadSettingsOf(flags, host)).settings);
    for (const [orderId, { intent }] of await ownedOrders(store, account, 0)) owned.set(orderId, intent);
    if (flags.markets === undefined) {
      const recent = await recentIntents(store, account, { since: host.now() - RECENT_MS, limit: 1000 });
      // Leave out a market if all of its intents were rejected or not executed: the account may lack the right to trade
      // there, and reading would fail.
      markets = marketsIn(recent.filter(({ state }) => state !== "abandoned" && state !== "rejected"));
    }
  }
  await using client = await clientOf(flags, host, { command: "fills", loaded });
  const rows: FillRow[] = [];
  for (const market of markets) {
    for (const fill of await client.fills.today({ market }, { signal: host.signal }).toArray()) {
      rows.push({ ...fill, intent: owned.get(fill.orderId ?? "") ?? null });
    }
  }
  const lines = () =>
    intentLines(rows, fillColumns(host.now()), { host, columns: view.columns, more: "--json prints all" });
  printList(host, view, {
    columns: fillColumns(host.now())(),
    rows,
    empty: `there are no fills today in ${markets.join(", ")}`,
    ...rows.length > 0 && { lines },
  });
  return 0;
}
