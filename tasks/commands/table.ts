/**
 * Lists all commands with their bodies, in the order of the overview.
 *
 * @module
 */
import { approve, refuse } from "./approve.ts";
import { backfill } from "./backfill.ts";
import { bars } from "./bars.ts";
import { calendar, calendarSet, calendarUnset, calendarUpdate } from "./calendar.ts";
import { call } from "./call.ts";
import { check } from "./check.ts";
import { completion } from "./completion.ts";
import { type Command, withBody } from "../terminal/command.ts";
import { demo } from "./demo.ts";
import { deploy } from "./deploy.ts";
import { doctor } from "./doctor.ts";
import { probe } from "./probe.ts";
import { exportDayBook } from "./export_day_book.ts";
import { init } from "./init.ts";
import { inspect } from "./inspect.ts";
import { keysCheck, keysNew } from "./keys.ts";
import { lease } from "./lease.ts";
import { storeAccept, storeBackup, storeCopy, storePrune, storeVerify } from "./store.ts";
import { login } from "./login.ts";
import { next } from "./next.ts";
import { notices } from "./notices.ts";
import { notify } from "./notify.ts";
import { operations } from "./operations.ts";
import {
  amend,
  buy,
  cancel,
  cancelAll,
  fills,
  halt,
  orders,
  ordersResolve,
  ordersShow,
  sell,
} from "./orders.ts";
import { pause, resume } from "./pause.ts";
import { portfolio } from "./portfolio.ts";
import { quote } from "./quote.ts";
import { rebalance, rebalanceRun, rebalanceShow } from "./rebalance.ts";
import { rerun } from "./rerun.ts";
import { run } from "./run.ts";
import { runs, runsShow } from "./runs.ts";
import { schedule } from "./schedule.ts";
import { schema } from "./schema.ts";
import { resolve } from "./resolve.ts";
import { sim } from "./sim.ts";
import { swarm } from "./swarm.ts";
import { test } from "./test.ts";
import { trust } from "./trust.ts";
import { watch } from "./watch.ts";
import { whyCommand } from "./why.ts";

/** All commands. The first match wins, so `runs show` must come before `runs`. */
export const commands: readonly Command[] = [
  withBody(init, async () => (await import("./init/body.ts")).run),
  withBody(run, async () => (await import("./run/body.ts")).run),
  withBody(check, async () => (await import("./check/body.ts")).run),
  withBody(trust, async () => (await import("./trust/body.ts")).run),
  withBody(swarm, async () => (await import("./swarm/body.ts")).run),
  withBody(test, async () => (await import("./test/body.ts")).run),
  withBody(schedule, async () => (await import("./schedule/body.ts")).run),
  withBody(next, async () => (await import("./next/body.ts")).run),
  withBody(runsShow, async () => (await import("./runs/body.ts")).show),
  withBody(runs, async () => (await import("./runs/body.ts")).run),
  withBody(whyCommand, async () => (await import("./why/body.ts")).run),
  withBody(notices, async () => (await import("./notices/body.ts")).run),
  withBody(notify, async () => (await import("./notify/body.ts")).run),
  withBody(pause, async () => (await import("./pause/body.ts")).run),
  withBody(resume, async () => (await import("./pause/body.ts")).resume),
  withBody(rerun, async () => (await import("./rerun/body.ts")).run),
  withBody(backfill, async () => (await import("./backfill/body.ts")).run),
  withBody(approve, async () => (await import("./approve/body.ts")).approve),
  withBody(refuse, async () => (await import("./approve/body.ts")).refuse),
  withBody(resolve, async () => (await import("./resolve/body.ts")).run),
  withBody(deploy, async () => (await import("./deploy/body.ts")).run),
  withBody(storeBackup, async () => (await import("./store/body.ts")).backup),
  withBody(storeVerify, async () => (await import("./store/body.ts")).verify),
  withBody(storePrune, async () => (await import("./store/prune.ts")).prune),
  withBody(storeCopy, async () => (await import("./store/body.ts")).copy),
  withBody(storeAccept, async () => (await import("./store/body.ts")).accept),
  withBody(exportDayBook, async () => (await import("./export_day_book/body.ts")).run),
  withBody(call, async () => (await import("./call/body.ts")).run),
  withBody(portfolio, async () => (await import("./portfolio/body.ts")).run),
  withBody(bars, async () => (await import("./bars/body.ts")).run),
  withBody(quote, async () => (await import("./quote/body.ts")).run),
  withBody(watch, async () => (await import("./watch/body.ts")).run),
  withBody(buy, async () => (await import("./orders/place.ts")).buy),
  withBody(sell, async () => (await import("./orders/place.ts")).sell),
  withBody(amend, async () => (await import("./orders/change.ts")).amend),
  withBody(cancel, async () => (await import("./orders/change.ts")).cancel),
  withBody(cancelAll, async () => (await import("./orders/change.ts")).cancelAll),
  withBody(ordersShow, async () => (await import("./orders/show.ts")).show),
  withBody(ordersResolve, async () => (await import("./orders/show.ts")).resolve),
  withBody(orders, async () => (await import("./orders/list.ts")).run),
  withBody(fills, async () => (await import("./orders/list.ts")).fills),
  withBody(halt, async () => (await import("./orders/halt.ts")).halt),
  withBody(rebalanceRun, async () => (await import("./rebalance/plans.ts")).run),
  withBody(rebalanceShow, async () => (await import("./rebalance/plans.ts")).show),
  withBody(rebalance, async () => (await import("./rebalance/body.ts")).run),
  withBody(login, async () => (await import("./login/body.ts")).run),
  withBody(sim, async () => (await import("./sim/body.ts")).run),
  withBody(demo, async () => (await import("./demo/body.ts")).run),
  withBody(doctor, async () => (await import("./doctor/body.ts")).run),
  withBody(probe, async () => (await import("./probe/body.ts")).run),
  withBody(lease, async () => (await import("./lease/body.ts")).run),
  withBody(keysNew, async () => (await import("./keys/new.ts")).run),
  withBody(keysCheck, async () => (await import("./keys/check.ts")).run),
  withBody(inspect, async () => (await import("./inspect/body.ts")).run),
  withBody(operations, async () => (await import("./operations/body.ts")).run),
  withBody(calendarSet, async () => (await import("./calendar/set.ts")).set),
  withBody(calendarUnset, async () => (await import("./calendar/set.ts")).unset),
  withBody(calendarUpdate, async () => (await import("./calendar/update.ts")).run),
  withBody(calendar, async () => (await import("./calendar/list.ts")).run),
  withBody(completion, async () => (await import("./completion/body.ts")).run),
  withBody(schema, async () => (await import("./schema/body.ts")).run),
];
