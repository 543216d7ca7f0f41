/**
 * Runs `hsgate orders` and `hsgate fills`.
 *
 * @module
 */
import { findOperation } from "../../../lib/operations/mod.ts";
import { Market } from "../../../lib/dictionaries/market.ts";
import { placeOf } from "../../../lib/desk/broker_lists.ts";
import { openIntents, ownedOrders, recentIntents } from "../../../lib/desk/queries.ts";
import { BrokerError } from "../../../lib/errors.ts";
import { marketsOf } from "../../terminal/arguments.ts";
import { exitCodeOf, UsageError } from "../../terminal/exit_codes.ts";
import type { Host } from "../../terminal/host.ts";
import { type Column, paint, plain, rowsTaken, shownWidth, tableLines } from "../../terminal/print.ts";
import type { Fill } from "../../../lib/operations/fills.ts";
import type { FillsInput, OrdersInput } from "../orders.ts";
import { connectDesk, type OpenBook, openBook, type OpenDesk } from "../shared/desk.ts";
import { clientOf, loadSettingsOf, settingsOf } from "../shared/session.ts";
import { openStore, storeExists } from "../shared/store_file.ts";
import { accountOf } from "../shared/desk.ts";
import { foreignRow, orderColumns, type OrderRow, rowOf } from "./rows.ts";

const command = "orders";

/** What one look shows: the rows, and the error if the broker's lists could not be read. */
interface Listed {
  rows: OrderRow[];
  error?: BrokerError;
}

/** Lists the intents of the account beside the orders at the broker. */
export async function run({ flags, host }: OrdersInput): Promise<number> {
  const limit = flags.limit ?? "20";
  if (!/^([1-9]\d{0,2}|1000)$/.test(limit)) {
    throw new UsageError(`Cannot use --limit "${limit}": write a number from 1 to 1000`);
  }
  const wanted = flags.markets === undefined ? undefined : marketsOf(flags.markets);
  const options = { host, command, writes: false };
  await using book = await openBook(flags, options);
  let open: OpenDesk | undefined;
  let failed: BrokerError | undefined;
  try {
    open = await connectDesk(book, flags, options);
  } catch (error) {
    if (!(error instanceof BrokerError) || flags.watch) throw error;
    failed = error;
  }
  try {
    const list = () => listed(book, open, { host, limit: Number(limit), markets: wanted });
    if (flags.watch && open !== undefined) {
      return await watch(open, list, { isJson: flags.json === true, host });
    }
    const { rows, error = failed } = await list();
    if (flags.json) host.out(JSON.stringify(rows));
    else if (rows.length === 0) host.out("there are no intents and no orders");
    else for (const line of linesOf(rows, host)) host.out(line);
    return error === undefined ? 0 : exitCodeOf(error);
  } finally {
    await open?.[Symbol.asyncDispose]();
  }
}

const linesOf = (rows: readonly OrderRow[], host: Host) =>
  tableLines(host, orderColumns, rows, { more: '"orders show" and --json show all' });

/** Compares the open intents with the broker's lists, and returns all rows. */
async function listed(
  { store, account }: OpenBook,
  open: OpenDesk | undefined,
  { host, limit, markets }: { host: Host; limit: number; markets: readonly Market[] | undefined },
): Promise<Listed> {
  let looked: Awaited<ReturnType<OpenDesk["desk"]["reconcile"]>> | undefined;
  let error: BrokerError | undefined;
  try {
    looked = await open?.desk.reconcile({
      signal: host.signal,
      markets: markets ?? await usualMarkets({ store, account }),
    });
  } catch (caught) {
    if (!(caught instanceof BrokerError)) throw caught;
    error = caught;
  }
  if (looked === undefined) {
    host.signal.throwIfAborted();
    host.note(
      `hsgate: warning: the broker's lists could not be read, so this is only what the store knows${
        error === undefined ? "" : `: ${plain(error.message)}`
      }`,
    );
  }
  const seen = looked?.seen ?? new Map();
  const missing = new Map(looked?.unresolved.map(({ intent, missing }) => [intent.id, missing]));
  const intents = await recentIntents(store, account, { limit });
  const shown = new Set(intents.map(({ id }) => id));
  // An open intent is always shown, however old it is.
  const older = (await openIntents(store, account)).filter(({ id }) => !shown.has(id));
  const rows: OrderRow[] = [];
  for (const intent of [...intents, ...older]) {
    rows.push(await rowOf(store, intent, { seen, missing: missing.get(intent.id) }));
  }
  for (const order of looked?.foreign ?? []) rows.push(foreignRow(order));
  return { rows, ...error !== undefined && { error } };
}

/** Hong Kong, and the markets of open intents. */
async function usualMarkets({ store, account }: Pick<OpenBook, "store" | "account">): Promise<Market[]> {
  const found = (await openIntents(store, account)).flatMap(({ operation, params }) => {
    const known = findOperation(operation);
    const market = known && placeOf(known, params).market;
    return market !== undefined && Market.has(market) ? [market] : [];
  });
  return [...new Set<Market>(["hk", ...found])];
}

/** How often `--watch` looks at the lists without a push. */
const LOOK_MS = 60_000;
/** Pushes of one order arrive in groups: one look is enough for a group. */
const GROUP_MS = 300;

/** Shows the rows again after each push of an order, and every minute, until Ctrl-C. */
async function watch(
  { client }: OpenDesk,
  list: () => Promise<Listed>,
  { isJson, host }: { isJson: boolean; host: Host },
): Promise<number> {
  const before = new Map<string, string>();
  let height = 0;
  const show = ({ rows }: Listed) => {
    if (!isJson && host.isTerminal) {
      const lines = [...linesOf(rows, host), paint(host, "dim", "Ctrl-C stops")];
      host.draw(`${height > 1 ? `\x1b[${height - 1}A` : ""}\r\x1b[J`, lines.join("\n"));
      height = rowsTaken(lines.map(shownWidth), Math.max(1, host.size().columns));
      return;
    }
    for (const row of rows.toReversed()) {
      const key = row.intent ?? `order ${row.orderIds[0]}`;
      const now = JSON.stringify([row.state, row.orderIds, row.filled, row.missing]);
      if (before.get(key) === now) continue;
      before.set(key, now);
      host.out(isJson ? JSON.stringify(row) : lineOf(row));
    }
  };
  let timer: ReturnType<typeof setTimeout> | undefined;
  let looking: Promise<void> | undefined;
  let failure: { error: unknown } | undefined;
  const ended = new AbortController();
  const signal = AbortSignal.any([host.signal, ended.signal]);
  const look = () => {
    looking ??= list().then(show).catch((error) => {
      failure = { error };
      ended.abort();
    }).finally(() => {
      looking = undefined;
      if (!signal.aborted) plan(LOOK_MS);
    });
  };
  const plan = (ms: number) => {
    clearTimeout(timer);
    timer = setTimeout(look, ms);
  };
  if (!host.isTerminal) host.note("hsgate: watching; Ctrl-C stops");
  look();
  try {
    for await (const event of client.watch({ topics: [], securities: [], signal })) {
      if (event.type === "order" || event.type === "gap") plan(GROUP_MS);
    }
  } finally {
    ended.abort();
    clearTimeout(timer);
    await looking;
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
  const what = [kind, side, quantity, symbol, price === undefined ? undefined : `at ${price}`]
    .filter((each) => each !== undefined).join(" ");
  const orders = orderIds.length === 0 ? "" : `  order ${orderIds.join(", ")}`;
  return plain(
    `${intent ?? "(elsewhere)"}  ${state}  ${what}${orders}  ${filled} filled${
      missing === undefined ? "" : `  missing: ${missing}`
    }`,
  );
}

type FillRow = Fill & { intent: string | null };

const fillColumns: readonly Column<FillRow>[] = [
  { title: "time", of: ({ fillTime }) => fillTime ?? "" },
  { title: "symbol", id: true, of: ({ symbol }) => symbol },
  { title: "side", of: ({ side }) => side },
  { title: "quantity", of: ({ filledQuantity }) => filledQuantity, align: "right" },
  { title: "price", of: ({ fillPrice }) => fillPrice, align: "right" },
  { title: "order", id: true, of: ({ orderId }) => orderId ?? "" },
  { title: "intent", id: true, of: ({ intent }) => intent ?? "(elsewhere)" },
];

/** Lists today's fills. */
export async function fills({ flags, host }: FillsInput): Promise<number> {
  const markets = marketsOf(flags.markets ?? "hk");
  const loaded = await settingsOf(flags, host);
  const owned = new Map<string, string>();
  if (await storeExists(flags, host)) {
    await using store = await openStore(flags, { host, mustExist: true });
    const account = await accountOf((await loadSettingsOf(flags, host)).settings);
    for (const [orderId, { intent }] of await ownedOrders(store, account, 0)) owned.set(orderId, intent);
  }
  await using client = await clientOf(flags, host, { command: "fills", loaded });
  const rows: FillRow[] = [];
  for (const market of markets) {
    for await (const fill of client.fills.today({ market }, { signal: host.signal })) {
      rows.push({ ...fill, intent: owned.get(fill.orderId ?? "") ?? null });
    }
  }
  if (flags.json) host.out(JSON.stringify(rows));
  else if (rows.length === 0) host.out("there are no fills today");
  else for (const line of tableLines(host, fillColumns, rows, { more: "--json prints all" })) host.out(line);
  return 0;
}
