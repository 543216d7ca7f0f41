/**
 * Causes the faults of a world: at the broker, in connections, processes and the database.
 *
 * @module
 */
import type { DatabaseSync } from "node:sqlite";
import type { IntentState } from "../desk/states.ts";
import type { Fault } from "../simulator/endpoints/faults.ts";
import { StoreError } from "../store/store_error.ts";
import { isWriting, readStore, SqliteError, tornStore } from "./disk.ts";
import {
  type FaultEntry,
  type FaultName,
  faultTable,
  type FaultTarget,
  faultText,
  type PlannedFault,
} from "./faults.ts";
import type { People } from "./people.ts";
import type { Network, PipeFault } from "./pipes.ts";
import type { Truth } from "./truth.ts";
import type { Process, World } from "./world.ts";

/** What the faults strike. */
interface StrikeDeps {
  world: World;
  network: Network;
  truth: Truth;
  people: People;
  /** Path of the store. */
  store: string;
  /** The programs that run now. */
  alive(): readonly Process[];
  /** Starts another scheduler for a minute. Its wall clock is ahead. */
  startAhead(ms: number): void;
}

/** Causes the faults of a world, and keeps the faults that still wait. */
export class Strikes implements FaultTarget {
  /** Whether the wall clock of a process has jumped. */
  hasJumped = false;
  /** Whether no fault may strike any more. */
  isQuiet = false;
  /** Called after a fault has struck. */
  onStruck: (kind: FaultName) => void = () => {};
  /** Returns whether any intent is in a state. */
  has: (state: IntentState) => boolean = () => false;
  /** The files of the store after a power cut. The store must be replaced by them before anything continues. */
  torn: ReturnType<typeof readStore> | undefined;
  readonly #deps: StrikeDeps;
  readonly #world: World;
  #pipeFaults: PipeFault[] = [];
  #fullUntil = -Infinity;
  #lockedTries = 0;
  #cut: "begin" | "before-commit" | "after-commit" | undefined;
  /** A power cut that waits for a commit. `before` are the files before the commit that is in progress. */
  #powerCut: { kind: FaultName; size: number; before?: ReturnType<typeof readStore> } | undefined;
  /** Whether a statement since the last commit or rollback has read or changed an intent. */
  #isOfDesk = false;
  /** The kind of fault that is being caused now. */
  #striking: FaultName | undefined;
  /** The state in which the fault that is being caused may strike. */
  #aim: IntentState | undefined;
  /** Faults that wait for an intent in a state. */
  readonly #waiting = new Set<PlannedFault>();

  constructor(deps: StrikeDeps) {
    this.#deps = deps;
    this.#world = deps.world;
    deps.network.faultOf = () => this.#pipeFaults.shift();
  }

  /** Lets faults strike the statements of a process. */
  watch(process: Process): void {
    process.onStatement = (sql, when, db) => {
      this.#strikeDisk(sql, when);
      if (this.#powerCut !== undefined) this.#tear(sql, when, db);
    };
  }

  /** Ends all faults and prevents new ones. */
  quieten(): void {
    this.isQuiet = true;
    this.#deps.truth.simulated?.faults.clear();
    this.#pipeFaults = [];
    this.#fullUntil = -Infinity;
    this.#lockedTries = 0;
    this.#cut = undefined;
    this.#powerCut = undefined;
    this.#deps.truth.endLag();
  }

  /**
   * Causes a fault now, or arms it to strike later. A fault that has a state waits until an intent is in that state.
   */
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

  /** Causes each waiting fault for which an intent is now in the state that the fault waits for. */
  strikeWaiting(): void {
    for (const fault of this.#waiting) {
      if (this.isQuiet || !this.has(fault.state!)) continue; // only faults with a state wait
      this.#waiting.delete(fault);
      const world = this.#world;
      world.schedule(world.now, undefined, faultText(fault), () => void (this.isQuiet || this.strike(fault)));
    }
  }

  /** Arms a fault of the simulator, which strikes at a later call. */
  arm(fault: Fault): void {
    const { simulated } = this.#deps.truth;
    if (simulated === undefined) return;
    const [kind, aim] = [this.#striking!, this.#aim]; // `arm` is only called by `strike`
    this.#striking = undefined;
    const isNow = aim === undefined ? undefined : () => !this.isQuiet && this.has(aim);
    const { operation: _, ...anyCall } = fault;
    // A fault that waits for a state other than "sent" strikes at any call, and not only at a write. The state may end
    // before the next write, or it may last until a list is read.
    const isForAny = aim !== undefined && aim !== "sent";
    simulated.faults.arm(isForAny ? anyCall : fault, isNow, () => this.onStruck(kind));
  }

  /** Adds a fault to the next connection that is opened. */
  pipe(fault: PipeFault): void {
    this.#pipeFaults.push(fault);
  }

  killOne(size: number): void {
    const process = this.#pick(size);
    if (process !== undefined) this.#world.schedule(this.#world.now, undefined, "kill", () => process.kill());
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
    if (process !== undefined) process.stoppedUntil = this.#world.now + ms;
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
        process.stoppedUntil = this.#world.now + ms;
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
    // Half of these faults stop the process before it writes the store's mark. The other half stop it at the end of the
    // event, when the transport connects.
    const isAtMark = (size * 31) % 1 < 0.5;
    let isRecorded = false;
    this.#whenNext(process, /^\s*insert into account_write /i, () => {
      isRecorded = true;
      if (isAtMark) return;
      process.stoppedUntil = this.#world.now + ms;
      this.onStruck(kind);
    });
    if (isAtMark) this.#pauseAt(process, { ms, isHere: () => isRecorded });
    else this.#striking = undefined;
  }

  /** Calls a function once, after a process has next run a statement whose SQL text matches a pattern. */
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
      this.#world.schedule(this.#world.now + 1, undefined, "start scheduler-ahead", () => {
        this.#deps.startAhead(ms);
        this.onStruck(kind);
      });
    });
  }

  fillDisk(ms: number): void {
    this.#fullUntil = this.#world.now + ms;
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
    // Most of these faults wait for a transaction of an order. Wait until no person uses the store: an open database
    // connection would continue to use the old files.
    const isHere = cut !== undefined && this.#deps.people.busy === 0 &&
      (this.#isOfDesk || cut.size > 0.8);
    if (when === "before") {
      if (isHere) cut.before = readStore(this.#deps.store);
      return;
    }
    this.#isOfDesk = false;
    if (cut?.before === undefined) return;
    const part = (cut.size * 7919) % 1;
    const torn = tornStore(db, { before: cut.before, after: readStore(this.#deps.store), part });
    delete cut.before;
    if (torn === undefined) return;
    this.torn = torn;
    this.#powerCut = undefined;
    this.onStruck(cut.kind);
    for (const process of this.#world.processes) if (process.name !== "broker") process.kill();
  }

  lagLists(ms: number): void {
    this.#deps.truth.lagLists(ms);
  }

  lockStore(tries: number): void {
    this.#lockedTries = tries;
  }

  halt(ms: number): void {
    this.#deps.people.halt(ms);
  }

  tradeAsOwner(size: number): void {
    this.#deps.people.tradeAsOwner(size);
  }

  repeatAsOwner(): void {
    this.#deps.people.repeatAsOwner();
  }

  changeAsOwner(size: number): void {
    this.#deps.people.changeAsOwner(size);
  }

  #pick(size: number): Process | undefined {
    const alive = this.#deps.alive();
    return alive[Math.floor(size * alive.length)];
  }

  #strikeDisk(sql: string, when: "before" | "after"): void {
    if (this.#cut === undefined && this.#lockedTries === 0 && this.#world.now >= this.#fullUntil) return;
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
    if (this.#world.now < this.#fullUntil && !/^\s*begin/i.test(sql)) {
      throw new SqliteError("database or disk is full", 13);
    }
    if (this.#lockedTries > 0 && /^\s*begin/i.test(sql)) {
      this.#lockedTries--;
      throw new SqliteError("database is locked", 5);
    }
  }
}
