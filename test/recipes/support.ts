/**
 * Provides a context for one step, with the simulated broker.
 *
 * @module
 */
import { builtInCalendars } from "../../lib/calendars/mod.ts";
import type { StepContext } from "../../lib/recipes/mod.ts";
import type { Simulated } from "../day_book/simulated.ts";

/** What a step recorded besides its output. */
export interface Noted {
  artifacts: Parameters<StepContext["artifact"]>[0][];
  logs: string[];
}

/** Makes a context; waits move the simulated clock instead of taking time. */
export function stepContext(
  broker: Simulated | undefined,
  given: Partial<StepContext> = {},
  noted: Noted = { artifacts: [], logs: [] },
): StepContext {
  const slot = broker === undefined ? "2025-08-15T08:45:00Z" : new Date(broker.clock.now()).toISOString();
  return {
    recipe: "test",
    runKey: "test/main/2025-08-15",
    recipeFile: { file: "test.yaml", sha256: "" },
    stepKey: "test/main/2025-08-15/step",
    slot,
    day: { date: given.session?.date ?? slot.slice(0, 10), zone: "Asia/Hong_Kong", calendar: "XHKG" },
    params: {},
    outputs: {},
    attempt: 1,
    calendars: builtInCalendars,
    signal: new AbortController().signal,
    now: () => broker?.clock.now() ?? Date.parse(slot),
    sleep(ms) {
      broker?.clock.advance(ms);
      broker?.simulator.round();
      return Promise.resolve();
    },
    client: () =>
      broker === undefined
        ? Promise.reject(new TypeError("Cannot connect: no broker"))
        : Promise.resolve(broker.client),
    out: "",
    log: (_level, message) => void noted.logs.push(message),
    progress() {},
    artifact: (file) => void noted.artifacts.push(file),
    secret: (name) => Promise.resolve(`<${name}>`),
    hasSecret: () => false,
    runRecipe: (name, params) => Promise.resolve({ name, params }),
    ...given,
  };
}
