/**
 * Commands by name, in the order in which the overview shows them.
 *
 * @module
 */
import { call } from "./call.ts";
import type { Command } from "./command.ts";
import { demo } from "./demo.ts";
import { doctor } from "./doctor.ts";
import { exportDayBook } from "./export_day_book.ts";
import { inspect } from "./inspect.ts";
import { keysCheck, keysNew } from "./keys.ts";
import { lease } from "./lease.ts";
import { login } from "./login.ts";
import { operations } from "./operations.ts";
import { quote } from "./quote.ts";
import { run } from "./run.ts";
import { sim } from "./sim.ts";
import { watch } from "./watch.ts";

/** Every command. */
export const commands: readonly Command[] = [
  run,
  exportDayBook,
  call,
  quote,
  watch,
  login,
  sim,
  demo,
  doctor,
  lease,
  keysNew,
  keysCheck,
  inspect,
  operations,
];
