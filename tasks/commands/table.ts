/**
 * Commands by name, in the order in which the overview shows them.
 *
 * @module
 */
import { approve, refuse } from "./approve.ts";
import { backfill } from "./backfill.ts";
import { calendar } from "./calendar.ts";
import { calendarSet, calendarUnset } from "./calendar_set.ts";
import { calendarUpdate } from "./calendar_update.ts";
import { call } from "./call.ts";
import { check } from "./check.ts";
import type { Command } from "./command.ts";
import { demo } from "./demo.ts";
import { deploy } from "./deploy.ts";
import { doctor } from "./doctor.ts";
import { exportDayBook } from "./export_day_book.ts";
import { init } from "./init.ts";
import { inspect } from "./inspect.ts";
import { keysCheck, keysNew } from "./keys.ts";
import { lease } from "./lease.ts";
import { ledgerAccept } from "./ledger_accept.ts";
import { ledgerBackup } from "./ledger_backup.ts";
import { ledgerVerify } from "./ledger_verify.ts";
import { login } from "./login.ts";
import { next } from "./next.ts";
import { notices } from "./notices.ts";
import { notify } from "./notify.ts";
import { operations } from "./operations.ts";
import { pause } from "./pause.ts";
import { prune } from "./prune.ts";
import { quote } from "./quote.ts";
import { rerun } from "./rerun.ts";
import { resume } from "./resume.ts";
import { run } from "./run.ts";
import { runs } from "./runs.ts";
import { runsShow } from "./runs_show.ts";
import { schedule } from "./schedule.ts";
import { schema } from "./schema.ts";
import { settle } from "./settle.ts";
import { sim } from "./sim.ts";
import { test } from "./test.ts";
import { trust } from "./trust.ts";
import { watch } from "./watch.ts";
import { whyCommand } from "./why.ts";

/** Every command. */
export const commands: readonly Command[] = [
  init,
  run,
  check,
  trust,
  test,
  schedule,
  next,
  runsShow, // before the shorter name, as the first that fits is taken
  runs,
  whyCommand,
  notices,
  notify,
  pause,
  resume,
  rerun,
  backfill,
  approve,
  refuse,
  settle,
  deploy,
  ledgerBackup,
  ledgerVerify,
  ledgerAccept,
  prune,
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
  calendarSet, // before the shorter name
  calendarUnset,
  calendarUpdate,
  calendar,
  schema,
];
