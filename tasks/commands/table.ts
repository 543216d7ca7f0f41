/**
 * Commands by name, in the order in which the overview shows them.
 *
 * @module
 */
import { calendar } from "./calendar.ts";
import { call } from "./call.ts";
import { check } from "./check.ts";
import type { Command } from "./command.ts";
import { doctor } from "./doctor.ts";
import { exportDayBook } from "./export_day_book.ts";
import { inspect } from "./inspect.ts";
import { login } from "./login.ts";
import { next } from "./next.ts";
import { operations } from "./operations.ts";
import { quote } from "./quote.ts";
import { run } from "./run.ts";
import { schedule } from "./schedule.ts";
import { schema } from "./schema.ts";
import { sim } from "./sim.ts";
import { watch } from "./watch.ts";

/** Every command. */
export const commands: readonly Command[] = [
  run,
  check,
  schedule,
  next,
  exportDayBook,
  call,
  quote,
  watch,
  login,
  sim,
  doctor,
  inspect,
  operations,
  calendar,
  schema,
];
