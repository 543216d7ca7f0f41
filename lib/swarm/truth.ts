/**
 * Simulates the broker of a world. Records what it has truly executed, and decides what its lists show and how programs
 * connect to it.
 *
 * @module
 */
import { directAccount, gatewayAccount } from "../client/account_name.ts";
import type { ConnectOptions, DirectConnectOptions } from "../client/connect.ts";
import { compare, type Decimal, subtract } from "../decimal.ts";
import type { Broker } from "../simulator/broker/broker.ts";
import type { OrderPush } from "../simulator/contract.ts";
import { type SimulatedGateway, startGateway } from "../simulator/gateway/mod.ts";
import { type ScriptEntry, type Simulator, startSimulator } from "../simulator/mod.ts";
import type { Process, World } from "./world.ts";

const MINUTE = 60_000;
/** Values of the cash are kept for this time. */
export const CASH_MS = 5 * MINUTE;
const HTTP_PORT = 11_111;
const PUSH_PORT = 11_112;

/** An order at the broker, as the broker knows it. */
export interface TrueOrder {
  orderId: string;
  symbol: string;
  side: string;
  price: Decimal;
  quantity: Decimal;
  filled: Decimal;
  status: string;
  /** Who placed it. */
  by: "desk" | "owner";
  /** Sequence number of the call that placed it. */
  call: number;
  /** True time at which the broker accepted it, Unix milliseconds. */
  placedAt: number;
  /** Whether it ended with the market's day, and not by a cancellation. */
  hasLapsed: boolean;
  /** Whether the owner has amended it in the broker's app. */
  isAmendedByOwner: boolean;
}

/** An order write that the broker has executed or, if `isRefused` is set, rejected. */
export interface Executed {
  call: number;
  name: "orders.place" | "orders.amend" | "orders.cancel";
  params: Readonly<Record<string, unknown>>;
  at: number;
  by: "desk" | "owner";
  orderIds: string[];
  isRefused: boolean;
  /** By how much this write reduced the available cash; absent in a world that does not rebalance. */
  used?: Decimal;
}

/** Cash that was available at an instant. */
export interface CashFigure {
  at: number;
  /** Number of order writes that had reached the broker by then. */
  call: number;
  amount: Decimal;
}

/** Options of {@linkcode Truth}. */
export interface TruthOptions {
  world: World;
  seed: number;
  /** Whether the programs use the direct transport. */
  isDirect: boolean;
  /** Number of lots above which the broker splits an order. @default the broker's own maximum */
  mostLots: number | undefined;
  /** Whether the broker's lists still show orders as open after they have ended with the market's day. */
  hidesLapses: boolean;
  /** Interval at which the broker checks the market and sends pushes while orders are open, milliseconds. */
  roundMs: number;
  /** Whether the available cash is recorded. */
  keepsCash: boolean;
  /** Price moves and trading halts. */
  script: readonly ScriptEntry[];
  onError(error: unknown): void;
}

/** The broker, and what it truly executed. */
export class Truth {
  /** Name of the account in the store. */
  account = gatewayAccount(`http://127.0.0.1:${HTTP_PORT}`);
  readonly orders = new Map<string, TrueOrder>();
  readonly executed: Executed[] = [];
  /** Fills at the broker by their ids. */
  readonly fills = new Map<string, { orderId: string; quantity: Decimal; price: Decimal }>();
  /** The available cash at instants of the last minutes, oldest first; empty in a world that does not rebalance. */
  readonly cash: CashFigure[] = [];
  /** Number of changes at the broker so far. */
  changes = 0;
  simulated!: SimulatedGateway | Simulator;
  readonly #options: TruthOptions;
  readonly #world: World;
  readonly #process: Process;
  #calls = 0;
  #call: Executed | undefined;
  #isOwner = false;
  #isRoundDue = false;
  #lagMs = 0;
  #lagUntil = -Infinity;

  constructor(options: TruthOptions) {
    this.#options = options;
    this.#world = options.world;
    this.#process = options.world.process("broker");
  }

  /** Starts the broker with its gateway or its platform. */
  async open(): Promise<void> {
    await this.#process.run(() => this.#open());
  }

  /** The simulated broker. */
  get broker(): Broker {
    return this.simulated.broker;
  }

  /** For five minutes, lists show new orders, and their fills, `ms` milliseconds late. */
  lagLists(ms: number): void {
    this.#lagMs = ms;
    this.#lagUntil = this.#world.now + 5 * MINUTE;
  }

  /** Ends {@linkcode lagLists}: from now on, lists show new orders at once. */
  endLag(): void {
    this.#lagUntil = -Infinity;
  }

  /** Runs work of the owner at the broker, outside of hsgate. Its orders are the owner's. */
  asOwner(work: () => void): void {
    this.#process.run(() => {
      this.#isOwner = true;
      try {
        work();
      } finally {
        this.#isOwner = false;
      }
    });
  }

  async #open(): Promise<void> {
    const { seed, isDirect, mostLots, script, onError } = this.#options;
    const core = {
      ...script.length > 0 && { script },
      seed,
      clock: { now: () => this.#world.now },
      days: 3,
      fillsPerDay: 1,
      ...mostLots !== undefined && { mostLots: { hk: mostLots } },
    };
    const ports = {
      controlToken: "none",
      pushIntervalMs: 0,
      onError,
    };
    const gateway = { ...ports, httpPort: HTTP_PORT, pushPort: PUSH_PORT };
    if (isDirect) {
      const platform = { ...ports, heartbeatIntervalSec: 300 };
      const simulator = await startSimulator({ ...core, gateway, platform });
      this.simulated = simulator;
      this.account = await directAccount(simulator.info.developerPrivateKey);
    } else {
      this.simulated = await startGateway({ ...core, ...gateway });
    }
    const { broker } = this.simulated;
    broker.onOrderPush((push) => this.#see(push));
    const call = broker.call.bind(broker);
    broker.call = (name, params) => {
      if (name === "orders.today" || name === "fills.today") return this.#listed(call(name, params));
      if (name === "orders.history") return this.#withoutEnds(call(name, params));
      if (name !== "orders.place" && name !== "orders.amend" && name !== "orders.cancel") {
        return call(name, params);
      }
      const executed: Executed = {
        call: this.#calls + 1,
        name,
        params: params as Executed["params"],
        at: this.#world.now,
        by: this.#isOwner ? "owner" : "desk",
        orderIds: [],
        isRefused: false,
      };
      broker.settle(); // earlier events must not count as effects of this call
      const before = this.noteCash();
      this.#call = executed;
      try {
        return call(name, params);
      } catch (error) {
        executed.isRefused = true;
        throw error;
      } finally {
        this.#call = undefined;
        this.#calls++;
        this.executed.push(executed);
        this.changes++;
        const after = this.noteCash();
        if (before !== undefined && after !== undefined) executed.used = subtract(before, after);
      }
    };
  }

  /** Returns the account's funds. */
  funds(): Readonly<Record<string, Decimal>> {
    // The simulator answers with this operation's record type.
    return this.broker.call("account.funds", { market: "hk" }) as Record<string, Decimal>;
  }

  /** Records and returns the available cash; does nothing and returns `undefined` if this world does not rebalance. */
  noteCash(amount?: Decimal): Decimal | undefined {
    if (!this.#options.keepsCash) return undefined;
    const figure = { at: this.#world.now, call: this.#calls, amount: amount ?? this.funds().available! };
    this.cash.push(figure);
    // Keep one value that is older than the period: the cash still had that value when the period began.
    while (this.cash.length > 1 && this.cash[1]!.at < this.#world.now - CASH_MS) this.cash.shift();
    return figure.amount;
  }

  /** Removes orders that delayed lists do not show yet. */
  #listed(rows: unknown): unknown {
    if (this.#world.now >= this.#lagUntil || !Array.isArray(rows)) return this.#withoutEnds(rows);
    return this.#withoutEnds(
      rows.filter(({ orderId }: { orderId: string }) =>
        this.#world.now - (this.orders.get(orderId)?.placedAt ?? 0) >= this.#lagMs
      ),
    );
  }

  /** In a world whose lists do not show that an order has lapsed, shows such orders as open. */
  #withoutEnds(rows: unknown): unknown {
    if (!this.#options.hidesLapses || !Array.isArray(rows)) return rows;
    return rows.map((row: { orderId?: string; status?: string }) => {
      const { hasLapsed, filled } = this.orders.get(row.orderId ?? "") ?? { hasLapsed: false, filled: "0" };
      if (!hasLapsed || row.status === undefined) return row;
      return { ...row, status: compare(filled, "0") > 0 ? "part-filled" : "accepted" };
    });
  }

  /**
   * Returns whether the desk may still count a lapsed order as open: the lists show it as open, and it was placed less
   * than three days ago.
   */
  isShownOpen({ hasLapsed, placedAt }: TrueOrder): boolean {
    return this.#options.hidesLapses && hasLapsed && this.#world.now - placedAt < 3 * 24 * 60 * MINUTE;
  }

  #see({ update }: OrderPush): void {
    const { orderId, symbol, side, price, quantity, filledQuantity, status } = update;
    if (orderId === undefined) return;
    this.changes++;
    const call = this.#call;
    const known = this.orders.get(orderId);
    if (known === undefined) call?.orderIds.push(orderId);
    this.orders.set(orderId, {
      orderId,
      symbol: symbol ?? known?.symbol ?? "",
      side: side ?? known?.side ?? "",
      price: price ?? known?.price ?? "0",
      quantity: quantity ?? known?.quantity ?? "0",
      filled: filledQuantity ?? known?.filled ?? "0",
      status: status ?? known?.status ?? "",
      by: known?.by ?? call?.by ?? "owner",
      call: known?.call ?? call?.call ?? 0,
      placedAt: known?.placedAt ?? this.#world.now,
      isAmendedByOwner: known?.isAmendedByOwner || call?.by === "owner" && call.name === "orders.amend",
      hasLapsed: known?.hasLapsed ||
        call === undefined && known?.status.includes("pending") === false &&
          (status === "cancelled" || status === "part-filled-cancelled"),
    });
    if (update.matchId !== undefined && compare(update.fillQuantity ?? "0", "0") > 0) {
      this.fills.set(update.matchId, {
        orderId,
        quantity: update.fillQuantity!,
        price: update.fillPrice ?? "0",
      });
    }
    this.#roundSoon();
  }

  /** Makes the broker check the market and send pushes after `roundMs`, and again as long as orders are open. */
  #roundSoon(): void {
    if (this.#isRoundDue) return;
    this.#isRoundDue = true;
    this.#process.run(() =>
      void this.#process.after(this.#options.roundMs, () => {
        this.#isRoundDue = false;
        this.simulated.round();
        const isLive = ({ status }: TrueOrder) => liveStatuses.includes(status);
        if (this.orders.values().some(isLive)) this.#roundSoon();
      }, "round")
    );
  }

  /** Returns the last price of a symbol. */
  lastPrice(symbol: string): number {
    const quotes = this.broker.call("quotes.latest", {
      securities: [{ type: "hk-stock", symbol }],
    }) as { lastPrice?: Decimal }[];
    return Number(quotes[0]?.lastPrice ?? "100");
  }

  /** Returns the options with which a program connects. */
  connectOptions(): ConnectOptions | DirectConnectOptions {
    const { simulated } = this;
    const { tradePassword, tradePasswordKey } = simulated.info;
    return "platform" in simulated
      ? {
        tradePassword,
        direct: {
          url: simulated.info.authUrl,
          country: "CHN",
          mobile: simulated.info.mobile,
          password: simulated.info.loginPassword,
          deviceId: "AA:BB:CC:00:11:22",
          privateKey: simulated.info.developerPrivateKey,
          platformKey: simulated.info.platformPublicKey,
          leaseFolder: false,
          timeoutMs: 5_000,
          keepLoginMs: 10 * MINUTE,
        },
      }
      : {
        gateway: { url: `http://127.0.0.1:${HTTP_PORT}`, push: `127.0.0.1:${PUSH_PORT}`, timeoutMs: 5_000 },
        tradePassword,
        tradePasswordKey,
      };
  }
}

/** States of an order that is still in the market. */
export const liveStatuses: readonly string[] = [
  "not-submitted",
  "waiting",
  "accepted",
  "part-filled",
  "cancel-pending",
  "amend-pending",
  "part-filled-cancel-pending",
  "part-filled-amend-pending",
];
