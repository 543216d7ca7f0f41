/**
 * Lets only one step of a rehearsal work at a time, and detects when all steps are waiting, so that virtual time can
 * advance.
 *
 * Real work (calls over sockets, files, processes) takes real time, and more of it on a slow machine. This must not
 * affect virtual time. So a step holds the turn while it works, and releases the turn while it only waits for virtual
 * time. Steps of the same instant work one after another, in the order in which they began. Virtual time advances only
 * while no step holds the turn.
 *
 * @module
 */
import type { Machine } from "../time.ts";

/** Gives the turn to one step at a time, in the order of their requests. */
export class Turn {
  readonly #waiting: (() => void)[] = [];
  #isTaken = false;
  #whenFree: (() => void) | undefined;

  /** Whether no step has the turn and no step waits for it. */
  get isFree(): boolean {
    return !this.#isTaken;
  }

  /** Resolves when the caller has the turn. */
  take(): Promise<void> {
    if (!this.#isTaken) {
      this.#isTaken = true;
      return Promise.resolve();
    }
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Ends the caller's turn. The next turn belongs to the step that has waited longest. */
  end(): void {
    const next = this.#waiting.shift();
    if (next !== undefined) return next();
    this.#isTaken = false;
    this.#whenFree?.();
    this.#whenFree = undefined;
  }

  /** Resolves when no step has the turn and no step waits for it. Supports only one pending call. */
  free(): Promise<void> {
    return this.#isTaken ? new Promise((resolve) => this.#whenFree = resolve) : Promise.resolve();
  }
}

/**
 * The work of one step. The step counts as waiting while a part of it sleeps and none of its calls is in progress.
 * Otherwise the step works and needs the turn.
 */
export class Work {
  readonly #turn: Turn;
  #sleepers = 0;
  #waits = 0;
  #calls = 0;
  #hasTurn = false;
  #taking: Promise<void> | undefined;

  constructor(turn: Turn) {
    this.#turn = turn;
  }

  /** How often the step has begun to wait. */
  get waits(): number {
    return this.#waits;
  }

  /** Does all the work of the step. */
  async do<T>(work: () => Promise<T>): Promise<T> {
    await this.#adjust();
    try {
      return await work();
    } finally {
      this.#sleepers = Infinity; // the step is over: timers that it left behind must not take the turn again
      this.#calls = 0;
      await this.#adjust();
    }
  }

  /** Waits for something that needs virtual time to pass or another step to work. */
  async idle<T>(wait: () => Promise<T>): Promise<T> {
    this.#sleepers++;
    this.#waits++;
    await this.#adjust();
    try {
      return await wait();
    } finally {
      this.#sleepers--;
      await this.#adjust();
    }
  }

  /** Sets a timer. The step counts as waiting until the timer fires or is cancelled, and has the turn when it fires. */
  setTimer(machine: Pick<Machine, "setTimer">, ms: number, callback: () => void): () => void {
    const due = Promise.withResolvers<void>();
    let isOff = false;
    const cancel = machine.setTimer(ms, due.resolve);
    this.idle(() => due.promise).then(() => {
      if (!isOff) callback();
    });
    return () => {
      isOff = true;
      cancel();
      due.resolve();
    };
  }

  /** Makes a real call, possibly while another part of the step sleeps. */
  async call<T>(call: () => Promise<T>): Promise<T> {
    this.#calls++;
    await this.#adjust();
    try {
      return await call();
    } finally {
      this.#calls--;
      await this.#adjust();
    }
  }

  /** Takes or ends the turn, depending on whether the step works now. */
  async #adjust(): Promise<void> {
    const needsTurn = this.#sleepers === 0 || this.#calls > 0;
    if (!needsTurn && this.#hasTurn) {
      this.#hasTurn = false;
      return this.#turn.end();
    }
    if (needsTurn && !this.#hasTurn) {
      this.#taking ??= this.#turn.take().then(() => {
        this.#hasTurn = true;
        this.#taking = undefined;
      });
    }
    await this.#taking;
    // The step may not need the turn any more when it gets the turn.
    if (this.#hasTurn && this.#sleepers > 0 && this.#calls <= 0) {
      this.#hasTurn = false;
      this.#turn.end();
    }
  }
}
