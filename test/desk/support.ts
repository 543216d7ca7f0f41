/**
 * Opens an order desk on a simulated account, for each transport and each store.
 *
 * @module
 */
import type { Client } from "../../lib/client/client.ts";
import { Desk, type DeskOptions } from "../../lib/desk/desk.ts";
import type { Intent, Why } from "../../lib/desk/intent.ts";
import { changesOf, recentIntents } from "../../lib/desk/queries.ts";
import type { Store } from "../../lib/store/store.ts";
import { type Machine, systemMachine } from "../../lib/time.ts";
import {
  type AccountUnderTest,
  conformance,
  type ConformanceOptions,
} from "../conformance/simulated_account.ts";
import { kinds } from "../support/stores.ts";

export const ACCOUNT = "main";

/** A desk on a simulated account. */
export interface DeskUnderTest extends AccountUnderTest {
  store: Store;
  /** The machine of the desk: waiting advances the simulated clock. */
  machine: Machine;
  desk: Desk;
  /** The client that goes through the desk; `client` goes past it. */
  trader: Client;
  /** Opens another desk on the same store, as another process would. */
  open(options?: Partial<DeskOptions>): Desk;
  /** Returns every intent, newest first. */
  intents(): Promise<Intent[]>;
  /** Returns the newest intent. */
  last(): Promise<Intent>;
  /** Returns the changes of an intent's state, oldest first, such as `sent>unknown by desk`. */
  history(id: string): Promise<string[]>;
  /** Advances the simulated time by `ms` in equal turns, and reconciles after each turn. */
  pass(ms: number, turns?: number): Promise<void>;
}

/** Returns a machine on the simulated clock. Its timers fire at once and advance the clock. */
export function simulatedMachine(clock: AccountUnderTest["clock"]): Machine {
  let ids = 0;
  return {
    ...systemMachine,
    now: () => clock.now(),
    monotonic: () => clock.now(),
    id: () => `intent-${String(++ids).padStart(4, "0")}`,
    setTimer(ms, callback) {
      let isCancelled = false;
      clock.advance(ms);
      queueMicrotask(() => isCancelled || callback());
      return () => void (isCancelled = true);
    },
  };
}

/** Runs a test over every transport with SQLite, and over the gateway with PostgreSQL too. */
export function deskTest(
  name: string,
  run: (testAccount: DeskUnderTest) => Promise<void>,
  { why, ...options }: ConformanceOptions & { why?: Why } = {},
): void {
  for (const kind of kinds) {
    const skip = kind.name === "SQLite"
      ? {}
      : { memory: "one transport is enough here", direct: "one transport is enough here" };
    if (kind.isMissing) {
      Deno.test({ name: `${name}, with ${kind.name}`, ignore: true, fn() {} });
      continue;
    }
    conformance(`${name}, with ${kind.name}`, async (testAccount) => {
      await using place = await kind.place();
      await using store = await place.open();
      const machine = simulatedMachine(testAccount.clock);
      const open = (given: Partial<DeskOptions> = {}) =>
        new Desk({ store, machine, account: ACCOUNT, client: testAccount.client, ...given });
      const desk = open();
      const intents = () => recentIntents(store, ACCOUNT, { limit: 100 });
      await run({
        ...testAccount,
        store,
        machine,
        desk,
        trader: desk.client(why),
        open,
        intents,
        last: async () => (await intents())[0]!,
        history: async (id) =>
          (await changesOf(store, id)).slice(1).map(({ from, to, by }) => `${from}>${to} by ${by}`),
        async pass(ms, turns = 1) {
          for (let turn = 0; turn < turns; turn++) {
            testAccount.clock.advance(ms / turns);
            testAccount.round();
            await desk.reconcile();
          }
        },
      });
    }, { ...options, skip: { ...skip, ...options.skip } });
  }
}
