/** Description of `hsgate deploy`. @module */
import { command, type Flags, type Input, unconnected } from "../terminal/command.ts";

const flags = {
  to: { type: "string", value: "SYSTEM", text: '"crontab", "systemd", "kubernetes" or "deno-cron"' },
  out: { type: "string", value: "DIR", text: "folder for the files; created if missing" },
  store: {
    type: "string",
    value: "STORE",
    text: "the store on the target system: a file, or postgres://... (hsgate.db in --dir)",
  },
  dir: { type: "string", value: "DIR", text: "working folder on the target system (the current one)" },
  deno: {
    type: "string",
    value: "FILE",
    text: "the Deno program on the target system (that of this command)",
  },
  program: {
    type: "string",
    value: "FILE",
    text: "tasks/hsgate.ts on the target system (that of this command)",
  },
  user: { type: "boolean", text: "systemd: write user units, not system units" },
  "run-as": { type: "string", value: "NAME", text: "systemd: user that runs the services (hsgate)" },
  as: {
    type: "string",
    value: "KIND",
    text: 'kubernetes: "jobs" for a CronJob per recipe, "scheduler" for a Deployment (jobs)',
  },
  image: { type: "string", value: "IMAGE", text: "kubernetes: the image (hsgate:latest)" },
  timeline: {
    type: "string",
    value: "NAME",
    text: "deno-cron: the only timeline that may trade, such as production",
  },
  force: { type: "boolean", text: "overwrite existing files" },
} as const satisfies Flags;
/** Arguments and flags of the command. */
export type DeployInput = Input<typeof flags>;

/** Writes files for systems that start recipes. */
export const deploy = command({
  name: "deploy",
  summary: "write a crontab, systemd units, Kubernetes manifests or a Deno.cron program",
  usage: "[DIR | RECIPE …] --to SYSTEM",
  args: [0, 1000],
  details: `The target system starts hsgate at every time at which a slot is possible, even on
holidays. hsgate then checks whether the recipe really has a slot at that time, because the
day may be a holiday or a half-day, or not the first session of the month. A slot has one
key, so it runs once even if several of these systems and "schedule" use one store. The
command installs nothing; it prints the remaining steps.
Without --out, a crontab goes to stdout.

Recipes that trade need a durable store: deploy rejects a store in /tmp or in memory. If such
a recipe starts late, it does nothing, unless its "misfire" says otherwise; no timer catches
up its slot. No file contains a secret. For Kubernetes the defaults are --dir /app, --deno /usr/bin/deno and
--store /data/hsgate.db.

With --store postgres://user@host/database the files contain the URL without a password;
the runs read the password from HSGATE_STORE_PASSWORD. On Kubernetes the Secret contains
both the URL and the password, and "--as scheduler" writes a Deployment of two schedulers.`,
  flags,
  without: unconnected,
  exits: [[2, "a recipe has a mistake, or wrong usage or settings"]],
  examples: [
    "deploy --to crontab",
    "deploy recipes/end_of_day.yaml --to systemd --user --out units",
    "deploy --to kubernetes --image registry.example/hsgate:1 --out k8s",
    "deploy --to kubernetes --as scheduler --store postgres://hsgate@db.example.com/hsgate --out k8s",
    "deploy recipes --to deno-cron --out .",
  ],
});
