/**
 * Runs `hsgate bars`.
 *
 * @module
 */
import { barPages, lastBars } from "../../../lib/client/bars.ts";
import type { Client } from "../../../lib/client/client.ts";
import { zoneOf } from "../../../lib/client/security.ts";
import type { Security } from "../../../lib/operations/public_types.ts";
import {
  compare,
  type Decimal,
  divide,
  isZero,
  multiply,
  priceText,
  subtract,
} from "../../../lib/decimal.ts";
import { BarInterval, PriceAdjustment } from "../../../lib/dictionaries/bar.ts";
import { RejectedError } from "../../../lib/errors.ts";
import type { Bar } from "../../../lib/operations/quotes.ts";
import { dayOf, oneOf } from "../../terminal/arguments.ts";
import { UsageError } from "../../terminal/exit_codes.ts";
import { checkListColumns, listView, printList } from "../../terminal/list_output.ts";
import { clockText, utcText, ZONE_NAME } from "../../terminal/market_time.ts";
import type { Column } from "../../terminal/print.ts";
import type { BarsInput } from "../bars.ts";
import { shortCount } from "../quote/line.ts";
import { securitiesOf } from "../quote/securities.ts";
import { clientOf } from "../shared/session.ts";

/** Lists the bars of a security. */
export async function run({ args, flags, host }: BarsInput): Promise<number> {
  const [security] = securitiesOf(args, flags.type);
  const { symbol } = security!; // the command has exactly one argument
  const interval = oneOf("interval", flags.interval ?? "day", BarInterval.names);
  const adjustment = oneOf("adjust", flags.adjust ?? "none", PriceAdjustment.names);
  const isOfMinutes = /^\d+m$/.test(interval);
  const view = listView(flags);
  const columns = columnsFor(isOfMinutes);
  checkListColumns(view, columns);
  const count = flags.count ?? "20";
  if (!/^[1-9]\d{0,3}$/.test(count) || Number(count) > 1500) {
    throw new UsageError(`Cannot use --count "${count}": write a number from 1 to 1500`);
  }
  if (flags.from !== undefined && flags.count !== undefined) {
    throw new UsageError("Cannot use --count with --from: use only one of the two flags");
  }
  const today = Temporal.Instant.fromEpochMilliseconds(host.now()).toZonedDateTimeISO(zoneOf(symbol))
    .toPlainDate().toString();
  const to = flags.to === undefined ? today : dayOf("to", flags.to);
  const from = flags.from === undefined ? undefined : dayOf("from", flags.from);
  if (from !== undefined && from > to) {
    throw new UsageError(`Cannot list bars from ${from} to ${to}: the first day is after the last`);
  }
  await using client = await clientOf(flags, host, { command: "bars" });
  const range = { security: security!, interval, to, adjustment };
  const { signal } = host;
  const rows = await whileSubscribed(
    client,
    security!,
    signal,
    async () =>
      from === undefined
        ? await lastBars(client, range, { count: Number(count), signal })
        : (await Array.fromAsync(barPages(client, { ...range, from }, { signal }))).flat(),
  );
  printList(host, view, {
    columns,
    rows,
    empty: `the broker sent no bars of ${symbol}`,
  });
  return 0;
}

/**
 * Reads bars. If the broker rejects the request, subscribes to the security and reads again, because the broker sends
 * bars only for subscribed securities. Afterwards, ends this subscription.
 */
async function whileSubscribed(
  client: Client,
  security: Security,
  signal: AbortSignal,
  read: () => Promise<Bar[]>,
): Promise<Bar[]> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof RejectedError) || error.name !== "RejectedError") throw error;
  }
  const subscription = { topic: "quote" as const, securities: [security] };
  await client.quotes.subscribe(subscription, { signal });
  try {
    return await read();
  } finally {
    await client.quotes.unsubscribe(subscription);
  }
}

/** Returns the beginning of a minute bar, Unix milliseconds; `undefined` if the bar has no timestamp. */
const beganAt = ({ timestamp }: Bar): number | undefined =>
  timestamp === undefined || timestamp === "0" ? undefined : Number(timestamp);

const priceColumn = (title: string, of: (bar: Bar) => Decimal | undefined): Column<Bar> => ({
  title,
  of: (bar) => priceText(of(bar)),
  exact: of,
  align: "right",
});

/** Returns the change since the previous bar in percent. */
function changeOf({ closePrice, previousClose }: Bar): Decimal | undefined {
  if (previousClose === undefined || isZero(previousClose)) return undefined;
  return divide(multiply(subtract(closePrice, previousClose), "100"), previousClose, 2, "half-up");
}

const columnsFor = (isOfMinutes: boolean): readonly Column<Bar>[] => [
  ...isOfMinutes
    ? [{
      title: `time (${ZONE_NAME})`,
      name: "time",
      id: true as const,
      // Show the date too: in Hong Kong it can differ from the trading day of a US exchange.
      of: (bar: Bar) => {
        const at = beganAt(bar);
        return at === undefined ? `${bar.date ?? ""} ${bar.time ?? ""}` : clockText(at, 0).slice(0, 16);
      },
      exact: (bar: Bar) => utcText(beganAt(bar)),
    }, { title: "date", extra: true as const, of: ({ date }: Bar) => date ?? "" }]
    : [{ title: "date", id: true as const, of: ({ date }: Bar) => date ?? "" }],
  priceColumn("open", ({ openPrice }) => openPrice),
  priceColumn("high", ({ highPrice }) => highPrice),
  priceColumn("low", ({ lowPrice }) => lowPrice),
  priceColumn("close", ({ closePrice }) => closePrice),
  {
    title: "change",
    of: (bar) => {
      const change = changeOf(bar);
      return change === undefined ? "" : `${change.startsWith("-") ? "" : "+"}${change}%`;
    },
    exact: changeOf,
    align: "right",
    color: (bar) => {
      const sign = compare(changeOf(bar) ?? "0", "0");
      return sign === 0 ? undefined : sign < 0 ? "red" : "green";
    },
  },
  { title: "volume", of: ({ volume }) => shortCount(volume), exact: ({ volume }) => volume, align: "right" },
  { ...priceColumn("close before", ({ previousClose }) => previousClose), name: "close-before", extra: true },
  {
    title: "turnover",
    extra: true,
    of: ({ turnover }) => shortCount(turnover),
    exact: ({ turnover }) => turnover,
    align: "right",
  },
];
