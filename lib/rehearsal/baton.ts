/**
 * How the rehearsal knows that nothing is going on, so that time may pass.
 *
 * Real work (calls over sockets, files, processes) takes real time, and on a slow machine more of it. None of this
 * may show in virtual time. So a piece of work holds a baton while it really works, and gives it back while it waits
 * for virtual time alone. Only one has it: work that falls on one instant is done one after another, in the order in
 * which it began, and never as fast as the sockets happen to be. Time passes only while nobody holds it.
 *
 * @module
 */

/** One holder at a time, first come, first served. */
export class Baton {
  readonly #waiting: (() => void)[] = [];
  #isHeld = false;
  #whenFree: (() => void) | undefined;

  /** Whether nobody has it and nobody wants it. */
  get isFree(): boolean {
    return !this.#isHeld;
  }

  /** Resolves once it is the caller's. */
  take(): Promise<void> {
    if (!this.#isHeld) {
      this.#isHeld = true;
      return Promise.resolve();
    }
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Gives it to whoever waits the longest. */
  giveBack(): void {
    const next = this.#waiting.shift();
    if (next !== undefined) return next();
    this.#isHeld = false;
    this.#whenFree?.();
    this.#whenFree = undefined;
  }

  /** Resolves when it is given back and nobody waits for it; one may wait for this at a time. */
  free(): Promise<void> {
    return this.#isHeld ? new Promise((resolve) => this.#whenFree = resolve) : Promise.resolve();
  }
}

/**
 * A piece of work: a step of a run. It waits for virtual time while something in it sleeps and none of its calls is
 * under way; otherwise it works.
 */
export class Work {
  readonly #baton: Baton;
  #sleepers = 0;
  #calls = 0;
  #holds = false;
  #taking: Promise<void> | undefined;

  constructor(baton: Baton) {
    this.#baton = baton;
  }

  /** Does it all, from the first to the last moment of it. */
  async do<T>(work: () => Promise<T>): Promise<T> {
    await this.#adjust();
    try {
      return await work();
    } finally {
      this.#sleepers = Infinity; // it is over: whatever it left behind is no work of its own
      this.#calls = 0;
      await this.#adjust();
    }
  }

  /** Waits for something that only passing time, or other work, brings about. */
  async idle<T>(wait: () => Promise<T>): Promise<T> {
    this.#sleepers++;
    await this.#adjust();
    try {
      return await wait();
    } finally {
      this.#sleepers--;
      await this.#adjust();
    }
  }

  /** Does something real, perhaps beside a wait. */
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

  /** Takes the baton or gives it back, as what goes on now demands. */
  async #adjust(): Promise<void> {
    const needs = this.#sleepers === 0 || this.#calls > 0;
    if (!needs && this.#holds) {
      this.#holds = false;
      return this.#baton.giveBack();
    }
    if (needs && !this.#holds) {
      this.#taking ??= this.#baton.take().then(() => {
        this.#holds = true;
        this.#taking = undefined;
      });
    }
    await this.#taking;
    // What needed it may be over by the time it comes.
    if (this.#holds && this.#sleepers > 0 && this.#calls <= 0) {
      this.#holds = false;
      this.#baton.giveBack();
    }
  }
}
