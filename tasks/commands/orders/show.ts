/**
 * Runs `hsgate orders show` and `hsgate orders resolve`.
 *
 * @module
 */
import { showInstant } from "../../../lib/calendars/mod.ts";
import { decideIntent, type Decision } from "../../../lib/desk/decide.ts";
import type { SeenOrder } from "../../../lib/desk/broker_lists.ts";
import type { Intent } from "../../../lib/desk/intent.ts";
import { isConditional, targetsOf } from "../../../lib/desk/terms.ts";
import { changesOf, findIntent, ownedOrders } from "../../../lib/desk/queries.ts";
import { isFinal, unresolvedStates } from "../../../lib/desk/states.ts";
import { BrokerError } from "../../../lib/errors.ts";
import { findOperation } from "../../../lib/operations/mod.ts";
import { commandsOf, provingLists } from "../../../lib/operations/proof.ts";
import { shellHint } from "../../../lib/shell_words.ts";
import { UsageError } from "../../terminal/exit_codes.ts";
import { list, paint, plain, wrapped } from "../../terminal/print.ts";
import type { OrdersResolveInput, OrdersShowInput } from "../orders.ts";
import { actorOf } from "../shared/decide.ts";
import { type AccountStore, connectDesk, intentOf, openAccountStore } from "../shared/desk.ts";
import { openStore, storeTime } from "../shared/store_file.ts";
import { colorOf, evidenceOf, rowOf } from "./rows.ts";
import { headline } from "./words.ts";

/** An intent, compared with the broker's lists. */
interface Compared {
  intent: Intent;
  missing?: string;
  seen: Parameters<typeof rowOf>[2]["seen"];
  /** Why the lists could not be read. */
  trouble?: string;
}

/** Shows one intent with its history. */
export async function show({ args: [given = ""], flags, host }: OrdersShowInput): Promise<number> {
  await using accountStore = await openAccountStore(flags, { host, command: "orders show", writes: false });
  const { store } = accountStore;
  // The user may know only the number of the order.
  const owner = (await ownedOrders(store, accountStore.account, 0)).get(given)?.intent;
  const { intent, missing, seen, trouble } = await compared(
    await intentOf(store, owner ?? given, "show"),
    accountStore,
    {
      flags,
      host,
    },
  );
  const row = await rowOf(store, intent, { seen, missing });
  const history = (await changesOf(store, intent.id)).map(({ from, to, ...change }) => ({
    from: from ?? null,
    to,
    ...evidenceOf({ from, to, ...change }),
  }));
  const advice = adviceFor(intent, missing);
  if (flags.json) {
    host.out(JSON.stringify({
      ...row,
      childIds: intent.childIds,
      params: intent.params,
      sentAt: intent.sentAt === undefined ? null : showInstant(intent.sentAt),
      absent: intent.absent ?? null,
      history,
      advice,
      trouble: trouble ?? null,
    }));
    return 0;
  }
  const operation = findOperation(intent.operation);
  const what = operation === undefined ? intent.operation : headline(operation, intent.params);
  host.out(paint(host, "bold", plain(what)));
  const rows = [
    ["intent", intent.id],
    ["state", intent.state],
    ["orders", intent.orderIds.join(", ") || "none known"],
    ...intent.childIds.length === 0 ? [] : [["has placed", intent.childIds.join(", ")]],
    ["filled", intent.filled],
    ["wanted by", [intent.why.by, intent.why.recipe, intent.why.runKey].filter(Boolean).join(", ")],
    ["recorded", showInstant(intent.createdAt)],
    ["sent", intent.sentAt === undefined ? "never" : showInstant(intent.sentAt)],
    ...missing === undefined ? [] : [["missing", missing]],
    ...trouble === undefined ? [] : [["broker", trouble]],
  ] as [string, string][];
  for (const line of list(host, rows)) host.out(line);
  host.out(paint(host, "bold", "history"));
  for (const { from, to, by, at, ...data } of history) {
    const change = from === null ? to : `${from} -> ${to}`;
    host.out(`  ${paint(host, "dim", at ?? "")}  ${paint(host, colorOf(to), change)}  by ${by}`);
    for (const [name, value] of Object.entries(data)) {
      const text = [value].flat().map(shownData).join(", ");
      for (const line of wrapped(host, plain(`${name}: ${text}`), 4)) host.out(line);
    }
  }
  for (const line of advice) host.out(paint(host, "yellow", plain(line)));
  return 0;
}

/** Returns a value of a change in words. */
function shownData(value: unknown): string {
  if (typeof value === "string") return value;
  const { orderId, state, filled } = Object(value) as Partial<SeenOrder>; // an order in the lists, or something else
  return filled === undefined ? JSON.stringify(value) : `${orderId} ${state ?? "?"}, ${filled} filled`;
}

/** Compares an open intent with the broker's lists. If the lists cannot be read, returns what the store knows. */
async function compared(
  intent: Intent,
  accountStore: AccountStore,
  { flags, host }: Pick<OrdersShowInput, "flags" | "host">,
): Promise<Compared> {
  if (isFinal(intent.state) || intent.account !== accountStore.account) return { intent, seen: new Map() };
  try {
    await using open = await connectDesk(accountStore, flags, {
      host,
      command: "orders show",
      writes: false,
    });
    const { unresolved, seen } = await open.desk.reconcile({ signal: host.signal });
    const missing = unresolved.find((each) => each.intent.id === intent.id)?.missing;
    const now = await findIntent(accountStore.store, intent.id) ?? intent;
    return { intent: now, seen, ...missing !== undefined && { missing } };
  } catch (error) {
    if (!(error instanceof BrokerError) || host.signal.aborted) throw error;
    return { intent, seen: new Map(), trouble: `its lists could not be read: ${error.message}` };
  }
}

/** Returns what a person can do if an intent's outcome is unknown, or if the lists do not show its orders. */
function adviceFor(intent: Intent, missing: string | undefined): string[] {
  const { id, state, operation, params } = intent;
  if (missing !== undefined && state !== "acknowledged" && !unresolvedStates.includes(state)) {
    const resolve = `hsgate orders resolve ${shellHint(id)}`;
    return [
      "check the broker's app",
      ...isConditional(intent) ? [`if it has triggered: ${resolve} placed --order ORDER`] : [],
      `if its order has ended: ${resolve} ended --because "what you checked"`,
    ];
  }
  if (state === "acknowledged") {
    return [
      `if its order has ended and the lists never show it: hsgate orders resolve ${
        shellHint(id)
      } ended --because "what you checked"`,
    ];
  }
  if (!unresolvedStates.includes(state)) return [];
  if (state === "sent") return ["its answer may still arrive; run the command again in a minute"];
  const known = findOperation(operation);
  const lists = known === undefined ? [] : commandsOf(provingLists(known, params));
  return [
    `check the broker's app${lists.length === 0 ? "" : `, or run: ${lists.join("; ")}`}`,
    `if the broker executed the write: hsgate orders resolve ${shellHint(id)} sent --order ORDER`,
    `if not: hsgate orders resolve ${shellHint(id)} not-sent --because "what you checked"`,
  ];
}

/** Records what a person found out about an intent: whether it was sent, what it has placed, or that it has ended. */
export async function resolve(input: OrdersResolveInput): Promise<number> {
  const { args: [given = "", word = ""], flags, host } = input;
  if (!isWord(word)) {
    throw new UsageError(`Cannot resolve as "${word}": write sent, not-sent, placed or ended`);
  }
  const { because } = flags;
  const hasOrders = word === "sent" || word === "placed";
  if (!hasOrders && (because === undefined || because.trim() === "")) {
    throw new UsageError('Cannot resolve without a reason: write --because "what you checked"');
  }
  if (!hasOrders && flags.order !== undefined) {
    throw new UsageError(`Cannot use --order with ${word}: only "sent" and "placed" name orders`);
  }
  await using store = await openStore(flags, { host, mustExist: true });
  const intent = await intentOf(store, given, "resolve");
  const by = actorOf(flags, host);
  const decisions: Record<Word, () => Decision> = {
    sent: () => ({
      wasSent: true,
      orderIds: ordersFor(flags.order ?? (intent.kind === "place" ? [] : targetsOf(intent)), word),
    }),
    "not-sent": () => ({ wasSent: false }),
    placed: () => ({ hasPlaced: ordersFor(flags.order ?? [], word) }),
    ended: () => ({ hasEnded: true }),
  };
  const { id, state, orderIds, childIds } = await decideIntent(store, intent.id, {
    ...decisions[word](),
    ...because !== undefined && { because },
    by,
    at: storeTime(store, host),
  });
  if (flags.json) host.out(JSON.stringify({ intent: id, state, orderIds, by, because: because ?? null }));
  else {
    const shown: Record<Word, string> = {
      sent: `is resolved as sent: order ${orderIds.join(", ")}`,
      "not-sent": "is resolved as not sent; the same order can be sent again",
      placed: `has placed order ${childIds.join(", ")}; hsgate follows it from now on`,
      ended: "has ended; hsgate no longer searches for it",
    };
    host.out(`intent ${id} ${shown[word]}`);
  }
  return 0;
}

/** Outcomes that a person may record for an intent. */
type Word = "sent" | "not-sent" | "placed" | "ended";
const isWord = (word: string): word is Word => ["sent", "not-sent", "placed", "ended"].includes(word);

/** Returns the given order numbers. @throws {UsageError} If there are none, or one does not consist of digits. */
function ordersFor(orderIds: readonly string[], word: Word): readonly string[] {
  const wrong = orderIds.find((each) => !/^\d{1,32}$/.test(each));
  if (wrong !== undefined) throw new UsageError(`Cannot use --order "${wrong}": order numbers are digits`);
  if (orderIds.length > 0) return orderIds;
  throw new UsageError(`Cannot resolve as ${word} without its orders: write --order ORDER for each of them`);
}
