/**
 * The processes of a world: the broker with its gateway, a program that trades, schedulers with recipes, and the people
 * around them.
 *
 * @module
 */
import type { DatabaseSync } from "node:sqlite";
import { builtInCalendars } from "../calendars/mod.ts";
import type { Client } from "../client/client.ts";
import { directAccount, gatewayAccount } from "../client/account_name.ts";
import { type LimitTexts, readLimits } from "../client/limits.ts";
import { compare, type Decimal, subtract } from "../decimal.ts";
import { decideIntent } from "../desk/decide.ts";
import { clearHalt, setHalt, unresolvedIntents } from "../desk/queries.ts";
import type { IntentState } from "../desk/states.ts";
import { targetsOf } from "../desk/terms.ts";
import { openTrading } from "../desk/trading.ts";
import { connect as connectOnly, type ConnectOptions, type DirectConnectOptions } from "../client/connect.ts";
import { BrokerError, DisplacedError } from "../errors.ts";
import { lotSize } from "../facts/listings.ts";
import { tickTable } from "../facts/price_rules.ts";
import { type CompiledRecipe, compileRecipe } from "../recipes/mod.ts";
import type { Order } from "../operations/public_types.ts";
import { Redactor } from "../redact.ts";
import { refusedLoginOn, releaseLogin, takenOverBy } from "../runner/claims/login_holds.ts";
import { Scheduler } from "../runner/schedule/scheduler.ts";
import type { Broker } from "../simulator/broker/broker.ts";
import type { Fault } from "../simulator/endpoints/faults.ts";
import { type SimulatedGateway, startGateway } from "../simulator/gateway/mod.ts";
import { type ScriptEntry, type Simulator, startSimulator } from "../simulator/mod.ts";
import type { OrderPush } from "../simulator/contract.ts";
import { openSqlite } from "../store/sqlite.ts";
import { StoreError } from "../store/store_error.ts";
import { randomFrom, systemMachine, wait } from "../time.ts";
import { isWriting, readStore, SqliteError, tornStore } from "./disk.ts";
import {
  type FaultEntry,
  type FaultName,
  faultTable,
  type FaultTarget,
  faultText,
  type PlannedFault,
} from "./faults.ts";
import { type Pace, SYMBOLS } from "./pace.ts";
import type { Network, PipeFault } from "./pipes.ts";
import type { Process, World } from "./world.ts";

const MINUTE = 60_000;
/** Values of the cash are kept for this time. */
export const CASH_MS = 5 * MINUTE;
/** While no faults happen, interval at which the trader's desk compares open intents with the broker's lists. */
const QUIET_READING_MS = 5 * MINUTE;
/** A person resumes the recipes this long after another device has taken over the login. */
const RESUME_MS = 7 * MINUTE;
const HTTP_PORT = 11_111;
const PUSH_PORT = 11_112;
const limitsOf = ({ orderCap, dayCap }: Pace): LimitTexts => ({
  liveTrading: "allow",
  maxOrderValue: `${orderCap} HKD`,
  maxDayValue: `${dayCap} HKD`,
  priceCollar: "5%",
});

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
}

/** An order write that the broker has executed. */
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

/** A program on its own machine. The machine restarts the program after it has died. */
interface Program {
  name: string;
  process: Process | undefined;
  main: (process: Process) => Promise<void>;
  /** The program is not started again before this time, Unix milliseconds. */
  notBefore: number;
}

/** Options of {@linkcode Swarm}. */
export interface SwarmOptions {
  world: World;
  network: Network;
  /** Folder of the store. */
  folder: string;
  seed: number;
  /** The sessions of the world's days, Unix milliseconds. */
  sessions: readonly { openAt: number; closeAt: number }[];
  recipes: readonly CompiledRecipe[];
  /** Number of schedulers. */
  schedulers: number;
  /** Whether the programs use the direct transport. */
  isDirect: boolean;
  /** Whether a scheduler is the only program. */
  isSole: boolean;
  /** Number of lots above which the broker splits an order. @default the broker's own maximum */
  mostLots: number | undefined;
  /** Whether the broker's lists still show orders as open that have ended with the market's day. */
  hidesLapses: boolean;
  /** How much happens in the world, and when. */
  pace: Pace;
  /** The recipes that rebalance. */
  rebalancing: readonly Rebalancing[];
}

/** A recipe that rebalances, as a seed draws it. */
export interface Rebalancing {
  recipe: CompiledRecipe;
  /** When the recipe may write, Unix milliseconds. */
  windows: readonly { from: number; to: number }[];
  /** Price moves and trading halts around the executions. */
  script: readonly ScriptEntry[];
}

/** Cash that was available at an instant. */
export interface CashFigure {
  at: number;
  /** Number of order writes that the broker had executed by then. */
  call: number;
  amount: Decimal;
}

/** The system under test and its surroundings. */
export class Swarm implements FaultTarget {
  readonly world: World;
  readonly network: Network;
  readonly store: string;
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
  /** Errors that no code has handled. */
  readonly unhandled: unknown[] = [];
  /** Periods in which trading was halted, Unix milliseconds; `to` is absent until the halt ends. */
  readonly halts: { from: number; to?: number }[] = [];
  /** Whether the wall clock of a process has jumped. */
  hasJumped = false;
  /** When the recipes may write, Unix milliseconds. */
  readonly windows: ReadonlyMap<string, readonly { from: number; to: number }[]>;
  /** Limits of the values of an order and of a day. The invariants check them independently of the desk. */
  readonly caps: { readonly order: Decimal; readonly day: Decimal };
  /** Whether faults may still strike. */
  isQuiet = false;
  /** Called after a fault has struck. */
  onStruck: (kind: FaultName) => void = () => {};
  simulated!: SimulatedGateway | Simulator;
  readonly #options: SwarmOptions;
  readonly #programs: Program[] = [];
  readonly #broker: Process;
  readonly #random: () => number;
  #calls = 0;
  #call: Executed | undefined;
  #pipeFaults: PipeFault[] = [];
  #fullUntil = -Infinity;
  #lockedTries = 0;
  #cut: "begin" | "before-commit" | "after-commit" | undefined;
  /** A power cut that waits for a commit. `before` are the files before the commit that is in progress. */
  #powerCut: { kind: FaultName; size: number; before?: ReturnType<typeof readStore> } | undefined;
  /** Whether the transaction in progress has changed an intent. */
  #isOfDesk = false;
  /** Number of things that people are doing with the store. */
  #people = 0;
  /** The files of the store after a power cut. The store must be replaced by them before anything continues. */
  torn: ReturnType<typeof readStore> | undefined;
  #lagMs = 0;
  #lagUntil = -Infinity;
  #isRoundDue = false;
  #isByHand = false;
  /** The kind of fault that is being caused now. */
  #striking: FaultName | undefined;
  /** The state in which the fault that is being caused may strike. */
  #aim: IntentState | undefined;
  /** Faults that wait for an intent in a state. */
  readonly #waiting = new Set<PlannedFault>();
  /** Returns whether an intent is in a state. */
  has: (state: IntentState) => boolean = () => false;

  constructor(options: SwarmOptions) {
    this.#options = options;
    this.world = options.world;
    this.network = options.network;
    this.store = `${options.folder}/hsgate.db`;
    this.caps = { order: options.pace.orderCap, day: options.pace.dayCap };
    this.#broker = this.world.process("broker");
    this.#random = randomFrom(options.seed ^ 0x5eed);
    const [buys, cancels] = [
      options.sessions.map(({ openAt }) => ({ from: openAt + 29 * MINUTE, to: openAt + 32 * MINUTE })),
      options.sessions.map(({ closeAt }) => ({ from: closeAt - 16 * MINUTE, to: closeAt - 10 * MINUTE })),
    ];
    this.windows = new Map([
      ...Object.entries({ "buy-early": buys, "cancel-late": cancels }).filter(([name]) =>
        options.recipes.some((recipe) => recipe.name === name)
      ),
      ...options.rebalancing.map(({ recipe, windows }) => [recipe.name, windows] as const),
    ]);
    this.network.faultOf = () => this.#pipeFaults.shift();
  }

  /** Starts the broker, then the programs. */
  async begin(): Promise<void> {
    await this.#broker.run(() => this.#openBroker());
    const [first] = this.#options.pace.awake.flat();
    const delayMs = Math.max(0, first!.from - this.world.now); // each day has a period
    if (!this.#options.isSole) this.#launch("trader", (process) => this.#trade(process), delayMs + 2_000);
    for (let number = 1; number <= this.#options.schedulers; number++) {
      this.#launch(`scheduler-${number}`, (process) => this.#schedule(process), delayMs + 3_000 * number);
    }
  }

  /** Ends all faults and prevents new ones. */
  quieten(): void {
    this.isQuiet = true;
    this.simulated?.faults.clear();
    this.#pipeFaults = [];
    this.#fullUntil = -Infinity;
    this.#lockedTries = 0;
    this.#cut = undefined;
    this.#powerCut = undefined;
    this.#lagUntil = -Infinity;
    for (const { process } of this.#programs) {
      if (process === undefined) continue;
      process.wallAheadMs = 0;
      process.stoppedUntil = -Infinity;
    }
  }

  /**
   * Does what a person does with the programs in the evening: ends them until the morning, suspends the computer, or
   * lets them run. If they run, a night has many times more events than a day, although nothing changes at the broker.
   *
   * @param size A random number, at least 0 and below 1, which selects one of the three.
   * @param morning When the programs run again, Unix milliseconds.
   */
  passNight(size: number, morning: number): void {
    if (size > 0.85) return;
    if (size >= 0.45) return this.suspend(morning);
    for (const program of this.#programs) {
      program.notBefore = morning;
      program.process?.kill();
    }
  }

  /** Suspends the computers of the programs until an instant. */
  suspend(until: number): void {
    for (const { process } of this.#programs) {
      if (process !== undefined) process.stoppedUntil = Math.max(process.stoppedUntil, until);
    }
  }

  /** The broker, whose state is the true one. */
  get broker(): Broker {
    return this.simulated.broker;
  }

  // Faults ------------------------------------------------------------------

  /** Causes a fault now, or arms it to strike later. A fault with a state waits for it. */
  strike(fault: PlannedFault): void {
    const { kind, size, state } = fault;
    const entry: FaultEntry = faultTable[kind];
    if (state !== undefined && !entry.isArmed && !this.has(state)) return void this.#waiting.add(fault);
    this.#waiting.delete(fault);
    this.#striking = kind;
    this.#aim = state;
    entry.strike(this, size);
    if (this.#striking !== undefined) this.onStruck(kind);
    this.#striking = undefined;
  }

  /** Causes the faults whose states have come. */
  strikeWaiting(): void {
    for (const fault of this.#waiting) {
      if (this.isQuiet || !this.has(fault.state!)) continue; // only faults with a state wait
      this.#waiting.delete(fault);
      const { world } = this;
      world.schedule(world.now, undefined, faultText(fault), () => void (this.isQuiet || this.strike(fault)));
    }
  }

  /** Arms a fault of the simulator, which strikes at a later call. */
  arm(fault: Fault): void {
    if (this.simulated === undefined) return;
    const [kind, aim] = [this.#striking!, this.#aim]; // `arm` is only called by `strike`
    this.#striking = undefined;
    const isNow = aim === undefined ? undefined : () => !this.isQuiet && this.has(aim);
    const { operation: _, ...anyCall } = fault;
    // The next write comes too late for a state that lasts until a list is read.
    const isForAny = aim !== undefined && !isBeforeAnswer(aim);
    this.simulated.faults.arm(isForAny ? anyCall : fault, isNow, () => this.onStruck(kind));
  }

  /** Adds a fault to the next connection that is opened. */
  pipe(fault: PipeFault): void {
    this.#pipeFaults.push(fault);
  }

  killOne(size: number): void {
    const process = this.#pick(size);
    if (process !== undefined) this.world.schedule(this.world.now, undefined, "kill", () => process.kill());
  }

  /** Kills a process at one of its next statements. */
  doom(size: number, statements: number): void {
    const process = this.#pick(size);
    if (process === undefined) return;
    const when = size < 0.5 ? "before" : "after";
    const last = process.statements + statements;
    const usual = process.onStatement;
    process.onStatement = (sql, now, db) => {
      usual?.(sql, now, db);
      if (process.statements >= last && now === when) process.kill();
    };
  }

  stopOne(size: number, ms: number): void {
    const process = this.#pick(size);
    if (process !== undefined) process.stoppedUntil = this.world.now + ms;
  }

  stopWithin(size: number, statements: number, ms: number): void {
    const process = this.#pick(size);
    if (process === undefined) return;
    const kind = this.#striking!; // only `strike` calls this
    this.#striking = undefined;
    const usual = process.onStatement;
    // Half of these faults wait for an order, because runs that only read begin much more often.
    const begins = (size * 31) % 1 < 0.5
      ? /^\s*insert into intent /i
      : /^\s*(update run set state = 'running'|insert into intent )/i;
    let left: number | undefined;
    process.onStatement = (sql, when, db) => {
      usual?.(sql, when, db);
      if (when === "before" || this.isQuiet) return;
      if (left === undefined) {
        if (begins.test(sql)) left = statements;
      } else if (--left === 0) {
        process.stoppedUntil = this.world.now + ms;
        this.onStruck(kind);
      }
    };
  }

  pauseWithin(size: number, transactions: number, ms: number): void {
    const process = this.#pick(size);
    if (process === undefined) return;
    let left: number | undefined;
    this.#whenNext(process, /^\s*insert into intent /i, () => left = transactions);
    this.#pauseAt(process, { ms, isHere: () => left !== undefined && --left === 0 });
  }

  stopBeforeSend(size: number, ms: number): void {
    const process = this.#pick(size);
    if (process === undefined) return;
    const kind = this.#striking!; // only a strike calls this
    // Half of these stop before the mark of the store, and half at the end of the event: the transport then connects.
    const isAtMark = (size * 31) % 1 < 0.5;
    let isRecorded = false;
    this.#whenNext(process, /^\s*insert into account_write /i, () => {
      isRecorded = true;
      if (isAtMark) return;
      process.stoppedUntil = this.world.now + ms;
      this.onStruck(kind);
    });
    if (isAtMark) this.#pauseAt(process, { ms, isHere: () => isRecorded });
    else this.#striking = undefined;
  }

  /** Calls a function once, after the next statement of a process that matches. */
  #whenNext(process: Process, pattern: RegExp, work: () => void): void {
    const usual = process.onStatement;
    let isOver = false;
    process.onStatement = (sql, when, db) => {
      usual?.(sql, when, db);
      if (isOver || this.isQuiet || when === "before" || !pattern.test(sql)) return;
      isOver = true;
      work();
    };
  }

  /** Stops a process once, before the first transaction for which `isHere` returns true. */
  #pauseAt(process: Process, { ms, isHere }: { ms: number; isHere: () => boolean }): void {
    const kind = this.#striking!; // only a strike calls this
    this.#striking = undefined;
    const usual = process.onTransaction;
    let isOver = false;
    process.onTransaction = () => {
      const earlier = usual?.();
      if (isOver || this.isQuiet || !isHere()) return earlier;
      isOver = true;
      this.onStruck(kind);
      return Math.max(earlier ?? 0, ms);
    };
  }

  /** Makes the wall clock of a process jump. */
  jump(size: number, ms: number): void {
    const process = this.#pick(size);
    if (process === undefined) return;
    this.hasJumped = true;
    process.wallAheadMs += ms;
  }

  takeOverWithin(size: number, ms: number): void {
    const first = this.#pick(size);
    if (first === undefined || !first.name.startsWith("scheduler")) return;
    const kind = this.#striking!; // only `strike` calls this
    this.#striking = undefined;
    this.#whenNext(first, /^\s*insert into intent /i, () => {
      this.hasJumped = true;
      this.world.schedule(this.world.now + 1, undefined, "start scheduler-ahead", () => {
        const other = this.world.process("scheduler-ahead");
        other.wallAheadMs = ms;
        this.#begin(other, (process) => this.#schedule(process));
        this.world.schedule(this.world.now + MINUTE, undefined, "end scheduler-ahead", () => other.kill());
        this.onStruck(kind);
      });
    });
  }

  fillDisk(ms: number): void {
    this.#fullUntil = this.world.now + ms;
  }

  cutStore(where: "begin" | "before-commit" | "after-commit"): void {
    this.#cut = where;
  }

  cutPower(size: number): void {
    this.#powerCut = { kind: this.#striking!, size }; // only a strike calls this
    this.#striking = undefined;
  }

  /** Tears the commit of a program, and kills everything on its computer. */
  #tear(sql: string, when: "before" | "after", db: DatabaseSync): void {
    const cut = this.#powerCut;
    if (/ intent /i.test(sql)) this.#isOfDesk = true;
    if (!/^\s*(commit|rollback)/i.test(sql)) return;
    // Most of these faults wait for a transaction of an order. A person's connection would keep the old files.
    const isHere = cut !== undefined && this.#people === 0 && (this.#isOfDesk || cut.size > 0.8);
    if (when === "before") {
      if (isHere) cut.before = readStore(this.store);
      return;
    }
    this.#isOfDesk = false;
    if (cut?.before === undefined) return;
    const part = (cut.size * 7919) % 1;
    const torn = tornStore(db, { before: cut.before, after: readStore(this.store), part });
    delete cut.before;
    if (torn === undefined) return;
    this.torn = torn;
    this.#powerCut = undefined;
    this.onStruck(cut.kind);
    for (const process of this.world.processes) if (process.name !== "broker") process.kill();
  }

  lagLists(ms: number): void {
    this.#lagMs = ms;
    this.#lagUntil = this.world.now + 5 * MINUTE;
  }

  lockStore(tries: number): void {
    this.#lockedTries = tries;
  }

  /** Lets a person halt trading for a time. */
  halt(ms: number): void {
    const person = this.world.process("person");
    const { world } = this;
    this.#people++;
    person.run(() =>
      void (async () => {
        await using store = await openSqlite(this.store, { mark: "leave" });
        await setHalt(store, { account: this.account, why: "a person", by: "person", at: world.now });
        const period: { from: number; to?: number } = { from: world.now };
        this.halts.push(period);
        await wait(systemMachine, ms);
        await clearHalt(store, this.account);
        // A resume ends every halt, including halts that began after this one.
        for (const each of this.halts) each.to ??= world.now;
      })().catch((error) => {
        if (!(error instanceof StoreError) && !(error instanceof SqliteError)) this.unhandled.push(error);
      }).finally(() => this.#people--)
    );
  }

  /** Lets a person resume the recipes some time after another device has taken over the login. */
  #resumeLater(): void {
    const person = this.world.process("person");
    person.run(() =>
      void (async () => {
        await wait(systemMachine, RESUME_MS);
        this.#people++;
        await using store = await openSqlite(this.store, { mark: "leave" });
        for (
          const { name } of [
            ...this.#options.recipes,
            ...this.#options.rebalancing.map((each) => each.recipe),
          ]
        ) {
          await store.transaction(() => releaseLogin(store, name, this.world.now));
        }
      })().catch((error) => {
        if (!(error instanceof StoreError) && !(error instanceof SqliteError)) this.unhandled.push(error);
      }).finally(() => this.#people--)
    );
  }

  /**
   * Lets a person decide about the intents that the lists cannot resolve. The person knows the truth from the broker's
   * app.
   *
   * @param claims The executed write of each intent, by the intent's id.
   */
  decide(claims: ReadonlyMap<string, Executed>): void {
    const person = this.world.process("person");
    person.run(() =>
      void (async () => {
        await using store = await openSqlite(this.store, { mark: "leave" });
        for (const intent of await unresolvedIntents(store, this.account)) {
          if (intent.state === "sent") continue;
          const { orderIds = [], isRefused = true } = claims.get(intent.id) ?? {};
          const decision = isRefused
            ? { wasSent: false } as const
            : { wasSent: true, orderIds: orderIds.length > 0 ? orderIds : targetsOf(intent) } as const;
          try {
            await decideIntent(store, intent.id, { ...decision, by: "person", at: this.world.now });
          } catch (error) {
            // The desk has given this order to another intent with the same terms.
            if (!(error instanceof TypeError)) throw error;
            this.world.note(person, error.message);
          }
        }
      })().catch((error) => this.unhandled.push(error))
    );
  }

  /** Lets the owner trade in the broker's app. */
  tradeByHand(size: number): void {
    this.#broker.run(() => {
      const own = [...this.orders.values()];
      const like = own.filter(({ by }) => by === "desk")[Math.floor(size * own.length)];
      const isSale = size > 0.8;
      const held = isSale ? this.#heldSymbols() : SYMBOLS;
      const symbol = held[Math.floor(size * 977) % held.length];
      if (symbol === undefined) return; // the account holds nothing
      const terms = like !== undefined && size < 0.5
        ? { symbol: like.symbol, side: like.side, price: like.price, quantity: like.quantity }
        : {
          symbol,
          side: isSale ? "sell" : "buy",
          price: priceNear(this.#lastPrice(symbol), isSale ? -0.01 : -0.02, symbol, this.world.now),
          quantity: lots(symbol, 1, this.world.now),
        };
      this.#placeByHand(terms);
    });
  }

  repeatByHand(): void {
    this.#broker.run(() => {
      const last = this.executed.findLast(({ name, by }) => name === "orders.place" && by === "desk");
      if (last !== undefined) this.#placeByHand(last.params);
    });
  }

  #placeByHand(terms: Readonly<Record<string, unknown>>): void {
    this.#isByHand = true;
    try {
      this.broker.call("orders.place", { market: "hk", orderType: "enhanced-limit", ...terms });
    } catch {
      // The market is closed, or the cash is not sufficient. The app would show this error.
    } finally {
      this.#isByHand = false;
    }
  }

  #heldSymbols(): string[] {
    // The simulator answers with this operation's record type.
    return (this.broker.call("account.holdings", { market: "hk" }) as { symbol: string }[])
      .map(({ symbol }) => symbol);
  }

  // Programs ----------------------------------------------------------------

  /** Starts a program on its own machine, and starts it again some time after it has died. */
  #launch(name: string, main: Program["main"], afterMs: number): void {
    const program: Program = { name, process: undefined, main, notBefore: -Infinity };
    this.#programs.push(program);
    const start = () => {
      const process = this.world.process(name);
      program.process = process;
      process.atDeath.add(() => {
        this.world.schedule(
          Math.max(this.world.now, program.notBefore) + 1_000 + Math.floor(this.#random() * 5 * MINUTE),
          undefined,
          `start ${name}`,
          start,
        );
      });
      this.#begin(process, main);
    };
    this.world.schedule(this.world.now + afterMs, undefined, `start ${name}`, start);
  }

  #begin(process: Process, main: Program["main"]): void {
    process.onStatement = (sql, when, db) => {
      this.#strikeDisk(sql, when);
      if (this.#powerCut !== undefined) this.#tear(sql, when, db);
    };
    process.run(() =>
      void main(process).catch((error) => {
        // A program that cannot start ends, for example because the disk is full.
        this.world.note(process, `ended: ${error instanceof Error ? error.message : error}`);
        if (!(error instanceof BrokerError) && !(error instanceof SqliteError)) this.unhandled.push(error);
        process.kill();
      })
    );
  }

  #pick(size: number): Process | undefined {
    const alive = this.#programs.flatMap(({ process }) => process?.isAlive ? [process] : []);
    return alive[Math.floor(size * alive.length)];
  }

  #strikeDisk(sql: string, when: "before" | "after"): void {
    if (this.#cut === undefined && this.#lockedTries === 0 && this.world.now >= this.#fullUntil) return;
    const isCommit = /^\s*commit/i.test(sql);
    const isCut = this.#cut === "after-commit"
      ? isCommit && when === "after"
      : when === "before" && (this.#cut === "begin" ? /^\s*begin/i.test(sql) : isCommit);
    if (this.#cut !== undefined && isCut) {
      const code = this.#cut === "after-commit" ? "unknown-commit" : "lost-connection";
      this.#cut = undefined;
      throw new StoreError("Cannot use the database: the connection was lost", { code });
    }
    if (when === "after" || !isWriting(sql)) return;
    if (this.world.now < this.#fullUntil && !/^\s*begin/i.test(sql)) {
      throw new SqliteError("database or disk is full", 13);
    }
    if (this.#lockedTries > 0 && /^\s*begin/i.test(sql)) {
      this.#lockedTries--;
      throw new SqliteError("database is locked", 5);
    }
  }

  async #openBroker(): Promise<void> {
    const { seed, isDirect, mostLots, rebalancing } = this.#options;
    const core = {
      ...rebalancing.length > 0 && { script: rebalancing.flatMap(({ script }) => script) },
      seed,
      clock: { now: () => this.world.now },
      days: 3,
      fillsPerDay: 1,
      ...mostLots !== undefined && { mostLots: { hk: mostLots } },
    };
    const ports = {
      controlToken: "none",
      pushIntervalMs: 0,
      onError: (error: unknown) => this.unhandled.push(error),
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
        at: this.world.now,
        by: this.#isByHand ? "owner" : "desk",
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

  /** Records the available cash, if this world rebalances. */
  noteCash(amount?: Decimal): Decimal | undefined {
    if (this.#options.rebalancing.length === 0) return undefined;
    const figure = { at: this.world.now, call: this.#calls, amount: amount ?? this.funds().available! };
    this.cash.push(figure);
    // Keep one value that is older than the period: the cash still had that value when the period began.
    while (this.cash.length > 1 && this.cash[1]!.at < this.world.now - CASH_MS) this.cash.shift();
    return figure.amount;
  }

  /** Removes orders that delayed lists do not show yet. */
  #listed(rows: unknown): unknown {
    if (this.world.now >= this.#lagUntil || !Array.isArray(rows)) return this.#withoutEnds(rows);
    return this.#withoutEnds(
      rows.filter(({ orderId }: { orderId: string }) =>
        this.world.now - (this.orders.get(orderId)?.placedAt ?? 0) >= this.#lagMs
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

  /** Returns whether the lists show for some days that an order is open, although it has lapsed. */
  isShownOpen({ hasLapsed, placedAt }: TrueOrder): boolean {
    return this.#options.hidesLapses && hasLapsed && this.world.now - placedAt < 3 * 24 * 60 * MINUTE;
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
      placedAt: known?.placedAt ?? this.world.now,
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

  /** While orders are open, lets the broker process them from time to time. */
  #roundSoon(): void {
    if (this.#isRoundDue) return;
    this.#isRoundDue = true;
    this.#broker.run(() =>
      void this.#broker.after(this.#options.pace.roundMs, () => {
        this.#isRoundDue = false;
        this.simulated.round();
        const isLive = ({ status }: TrueOrder) => liveStatuses.includes(status);
        if (this.orders.values().some(isLive)) this.#roundSoon();
      }, "round")
    );
  }

  #lastPrice(symbol: string): number {
    const quotes = this.broker.call("quotes.latest", {
      securities: [{ type: "hk-stock", symbol }],
    }) as { lastPrice?: Decimal }[];
    return Number(quotes[0]?.lastPrice ?? "100");
  }

  /** Returns the options with which a program connects. */
  #connectOptions(): ConnectOptions | DirectConnectOptions {
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

  /** A program that trades with `connect({ store })`. */
  async #trade(process: Process): Promise<void> {
    const { world } = this;
    const { pace } = this.#options;
    const { random } = process;
    const options = this.#connectOptions();
    const connect = () => "direct" in options ? connectOnly(options) : connectOnly(options);
    const client = await openTrading(connect, options, {
      store: this.store,
      by: "trader",
      limits: limitsOf(pace),
      reconcileEveryMs: () => this.isQuiet ? QUIET_READING_MS : pace.reconcileMs,
    });
    const report = (error: unknown) => {
      world.note(process, `error: ${error instanceof Error ? `${error.name} ${error.message}` : error}`);
      if (!(error instanceof BrokerError) && !(error instanceof SqliteError)) throw error;
      // A login that the program has given up can still complete and end the program's session. A person then starts it
      // again.
      if (error instanceof DisplacedError) process.kill();
    };
    const fail = (error: unknown) => {
      this.unhandled.push(error);
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
        if (pace.cancelsAtEnd) await this.#cancelAll(client).catch(report);
        const next = pace.trading.find(({ from }) => from > world.now);
        await wait(systemMachine, next === undefined ? 60 * MINUTE : next.from - world.now);
        continue;
      }
      try {
        await this.#act(client, random);
      } catch (error) {
        report(error);
      }
    }
  }

  /** Returns the open orders that a program has placed. */
  async #openOrders(client: Trader): Promise<Order[]> {
    return (await client.orders.today({ market: "hk" }).toArray()).filter(({ status, orderId }) =>
      liveStatuses.includes(status ?? "") && this.orders.get(orderId)?.by === "desk"
    );
  }

  async #cancelAll(client: Trader): Promise<void> {
    for (const order of await this.#openOrders(client)) await cancelOrder(client, order);
  }

  async #act(client: Trader, random: () => number): Promise<void> {
    const market = "hk" as const;
    const what = random();
    if (what > 0.65) {
      const open = await this.#openOrders(client);
      const order = open[Math.floor(random() * open.length)];
      if (order === undefined) return;
      if (what > 0.8) {
        await cancelOrder(client, order);
      } else {
        const { orderId, symbol, quantity = "0", price = "0", side } = order;
        const near = priceNear(Number(price), side === "buy" ? -0.01 : 0.01, symbol, this.world.now);
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
    // The same terms as an order of the owner that the lists already show.
    const foreign = [...this.orders.values()].filter(({ by, side }) => by === "owner" && side === "buy");
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
    const { symbols, distance, orderValue } = this.#options.pace;
    const symbol = symbols[Math.floor(random() * symbols.length)]!;
    const [quote] = await client.quotes.latest({ securities: [{ type: "hk-stock", symbol }] });
    const last = Number(quote?.lastPrice ?? "0");
    if (last === 0) return;
    const holdings = await client.account.holdings({ market });
    const held = holdings.find((each) => each.symbol === symbol);
    const isSell = random() < 0.4 && Number(held?.sellableQuantity ?? 0) > 0;
    const offset = (random() - 0.5) * 2 * distance;
    const lot = Number(lots(symbol, 1, this.world.now));
    const most = Math.max(3, Math.floor(orderValue / (last * lot)));
    await client.orders.place({
      market,
      symbol,
      side: isSell ? "sell" : "buy",
      orderType: "enhanced-limit",
      price: priceNear(last, offset, symbol, this.world.now),
      quantity: lots(symbol, 1 + Math.floor(random() * most), this.world.now),
    });
  }

  /** A scheduler process. */
  async #schedule(process: Process): Promise<void> {
    const { pace, rebalancing } = this.#options;
    const store = await openSqlite(this.store);
    const options = this.#connectOptions();
    let client: Promise<Client> | undefined;
    /** Whether the login of the connection was taken over or refused. */
    let isStale = false;
    const connected = async () => {
      const held = { now: this.world.now, needsAccount: true };
      const isHeld = await takenOverBy(store, this.account) ??
        await refusedLoginOn(store, this.account, held);
      if (isStale && isHeld === undefined) {
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
      this.#resumeLater();
    };
    const scheduler = new Scheduler({
      store,
      machine: systemMachine,
      calendars: () => builtInCalendars,
      holder: holderOf(process),
      recipes: [
        ...this.#options.recipes.filter(({ name }) => name !== (pace.isShort ? "look" : "look-rarely")),
        ...rebalancing.map(({ recipe }) => recipe),
      ],
      out: this.#options.folder,
      redactor: new Redactor(),
      client: connected,
      onLoginLost,
      onEvent: (event) => {
        const isOut = event.type === "run-ended" &&
          (event.reason === "displaced" || event.reason === "login");
        if (isOut) onLoginLost();
      },
      limits: readLimits(limitsOf(pace)),
      accountOf: () => this.account,
      secret: () => Promise.reject(new TypeError("a world has no secrets")),
      onSchedulerEvent: (event) => {
        if (event.type === "tick") return;
        const about = "runKey" in event ? ` ${event.runKey}` : "";
        const why = event.type === "error"
          ? ` ${event.error instanceof Error ? event.error.message : event.error}`
          : "";
        this.world.note(process, `scheduler ${event.type}${about}${why}`);
      },
      tickMs: 10 * MINUTE,
      pollMs: 5_000,
      ...pace.isShort && { retention: "everything" },
    });
    await scheduler.start();
  }
}

/** The client of the trader. */
type Trader = Awaited<ReturnType<typeof openTrading>>;

async function cancelOrder(client: Trader, { orderId, symbol, quantity = "0", price = "0" }: Order) {
  await client.orders.cancel({ market: "hk", orderId, symbol, quantity, price, orderType: "enhanced-limit" });
}

/** Returns whether an intent in this state waits for the answer to its write, or has not been sent yet. */
const isBeforeAnswer = (state: IntentState) =>
  state === "planned" || state === "approved" || state === "sent";

/** Returns the name under which a scheduler process holds runs. */
export const holderOf = ({ name, number }: Pick<Process, "name" | "number">): string => `${name} ${number}`;

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

/** Returns the day of an instant in Hong Kong. */
export const hongKongDate = (at: number) => new Date(at + 8 * 3_600_000).toISOString().slice(0, 10);

/** Returns a price at a distance from another price, rounded to a tick. */
export function priceNear(last: number, offset: number, symbol: string, at: number): Decimal {
  void symbol;
  const wanted = last * (1 + offset);
  const bands = tickTable("hk", hongKongDate(at));
  const band = bands.find(({ over, upTo }) =>
    wanted > Number(over) && (upTo === null || wanted <= Number(upTo))
  );
  const tick = band?.tick ?? "0.01";
  const digits = (tick.split(".")[1] ?? "").length;
  return (Math.round(wanted / Number(tick)) * Number(tick)).toFixed(digits);
}

/** Returns a random quantity of whole lots. */
export function lots(symbol: string, count: number, at: number): Decimal {
  return String(lotSize(symbol, hongKongDate(at)) * count);
}

/**
 * The recipes of the worlds: one that buys, one that cancels before the close, and one that reads, more rarely in a
 * short world.
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
