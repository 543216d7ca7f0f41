/**
 * Simulates the people in a simulated world (`world.ts`): they halt trading, resume recipes, decide about lost orders,
 * and trade in the broker's app.
 *
 * @module
 */
import { compare, subtract } from "../decimal.ts";
import { decideIntent } from "../desk/decide.ts";
import { clearHalt, setHalt, unresolvedIntents } from "../desk/queries.ts";
import { targetsOf } from "../desk/terms.ts";
import { releaseLogin } from "../runner/claims/login_holds.ts";
import { openSqlite } from "../store/sqlite.ts";
import { StoreError } from "../store/store_error.ts";
import { systemMachine, wait } from "../time.ts";
import { SqliteError } from "./disk.ts";
import { SYMBOLS } from "./pace.ts";
import { lots, priceNear } from "./programs.ts";
import { type Executed, liveStatuses, type Truth } from "./truth.ts";
import type { World } from "./world.ts";

const MINUTE = 60_000;
/** A person resumes the recipes this long after another device has taken over the login. */
const RESUME_MS = 7 * MINUTE;

/** The world, the broker and the store of the people. */
interface PeopleDeps {
  world: World;
  truth: Truth;
  /** Path of the store. */
  store: string;
  /** Names of the recipes. */
  recipes: readonly string[];
  /** Errors that no code has handled. */
  unhandled: unknown[];
}

/** The people. */
export class People {
  /** Periods in which trading was halted, Unix milliseconds; `to` is absent until the halt ends. */
  readonly halts: { from: number; to?: number }[] = [];
  /** Number of halts and resumes in progress that use the store. Decisions are not counted. */
  busy = 0;
  readonly #world: World;
  readonly #truth: Truth;
  readonly #deps: PeopleDeps;

  constructor(deps: PeopleDeps) {
    this.#world = deps.world;
    this.#truth = deps.truth;
    this.#deps = deps;
  }

  /** Lets a person halt trading for a time. */
  halt(ms: number): void {
    const person = this.#world.process("person");
    const world = this.#world;
    this.busy++;
    person.run(() =>
      void (async () => {
        await using store = await openSqlite(this.#deps.store, { mark: "leave" });
        await setHalt(store, { account: this.#truth.account, why: "a person", by: "person", at: world.now });
        const period: { from: number; to?: number } = { from: world.now };
        this.halts.push(period);
        await wait(systemMachine, ms);
        await clearHalt(store, this.#truth.account);
        // A resume ends every halt, including halts that began after this one.
        for (const each of this.halts) each.to ??= world.now;
      })().catch((error) => {
        if (!(error instanceof StoreError) && !(error instanceof SqliteError)) {
          this.#deps.unhandled.push(error);
        }
      }).finally(() => this.busy--)
    );
  }

  /** Lets a person resume the recipes some time after another device has taken over the login. */
  resumeLater(): void {
    const person = this.#world.process("person");
    person.run(() =>
      void (async () => {
        await wait(systemMachine, RESUME_MS);
        this.busy++;
        await using store = await openSqlite(this.#deps.store, { mark: "leave" });
        for (const name of this.#deps.recipes) {
          await store.transaction(() => releaseLogin(store, name, this.#world.now));
        }
      })().catch((error) => {
        if (!(error instanceof StoreError) && !(error instanceof SqliteError)) {
          this.#deps.unhandled.push(error);
        }
      }).finally(() => this.busy--)
    );
  }

  /**
   * Lets a person decide about the intents that the lists cannot resolve. The person knows the truth from the broker's
   * app.
   *
   * @param claims The executed write of each intent, by the intent's id.
   */
  decide(claims: ReadonlyMap<string, Executed>): void {
    const person = this.#world.process("person");
    person.run(() =>
      void (async () => {
        await using store = await openSqlite(this.#deps.store, { mark: "leave" });
        for (const intent of await unresolvedIntents(store, this.#truth.account)) {
          if (intent.state === "sent") continue;
          const { orderIds = [], isRefused = true } = claims.get(intent.id) ?? {};
          const decision = isRefused
            ? { wasSent: false } as const
            : { wasSent: true, orderIds: orderIds.length > 0 ? orderIds : targetsOf(intent) } as const;
          try {
            await decideIntent(store, intent.id, { ...decision, by: "person", at: this.#world.now });
          } catch (error) {
            // The desk has given this order to another intent with the same terms.
            if (!(error instanceof TypeError)) throw error;
            this.#world.note(person, error.message);
          }
        }
      })().catch((error) => this.#deps.unhandled.push(error))
    );
  }

  /** Lets the owner trade in the broker's app. */
  tradeAsOwner(size: number): void {
    this.#truth.asOwner(() => {
      const own = [...this.#truth.orders.values()];
      const like = own.filter(({ by }) => by === "desk")[Math.floor(size * own.length)];
      const isSale = size > 0.8;
      const symbols = isSale ? this.#heldSymbols() : SYMBOLS;
      const symbol = symbols[Math.floor(size * 977) % symbols.length];
      if (symbol === undefined) return; // the account has no holdings
      const terms = like !== undefined && size < 0.5
        ? { symbol: like.symbol, side: like.side, price: like.price, quantity: like.quantity }
        : {
          symbol,
          side: isSale ? "sell" : "buy",
          price: priceNear(this.#truth.lastPrice(symbol), isSale ? -0.01 : -0.02, this.#world.now),
          quantity: lots(symbol, 1, this.#world.now),
        };
      this.#placeAsOwner(terms);
    });
  }

  /** Lets the owner repeat the desk's latest order in the broker's app. */
  repeatAsOwner(): void {
    this.#truth.asOwner(() => {
      const last = this.#truth.executed.findLast(({ name, by }) => name === "orders.place" && by === "desk");
      if (last !== undefined) this.#placeAsOwner(last.params);
    });
  }

  /** Lets the owner amend or cancel one of the desk's three latest open orders in the broker's app. */
  changeAsOwner(size: number): void {
    this.#truth.asOwner(() => {
      const open = [...this.#truth.orders.values()].filter(({ by, status }) =>
        by === "desk" && liveStatuses.includes(status)
      );
      const order = open[open.length - 1 - Math.floor(size * Math.min(3, open.length))];
      if (order === undefined) return;
      const { orderId, symbol, side, quantity, price } = order;
      const part = (size * 7919) % 1;
      const terms = { market: "hk", orderId, symbol, quantity, price, orderType: "enhanced-limit" };
      if (part < 0.3) return this.#callAsOwner("orders.cancel", terms);
      const near = priceNear(Number(price), side === "buy" ? -0.01 : 0.01, this.#world.now);
      const lot = lots(symbol, 1, this.#world.now);
      const isReduced = part < 0.6 && compare(quantity, lot) > 0;
      this.#callAsOwner("orders.amend", {
        ...terms,
        ...isReduced ? { quantity: subtract(quantity, lot) } : { price: near },
      });
    });
  }

  #placeAsOwner(terms: Readonly<Record<string, unknown>>): void {
    this.#callAsOwner("orders.place", { market: "hk", orderType: "enhanced-limit", ...terms });
  }

  #callAsOwner(name: Executed["name"], params: Readonly<Record<string, unknown>>): void {
    try {
      this.#truth.broker.call(name, params);
    } catch {
      // The market is closed, for example, or the cash is not sufficient. The app would show this error.
    }
  }

  #heldSymbols(): string[] {
    // The simulator answers with this operation's record type.
    return (this.#truth.broker.call("account.holdings", { market: "hk" }) as { symbol: string }[])
      .map(({ symbol }) => symbol);
  }
}
