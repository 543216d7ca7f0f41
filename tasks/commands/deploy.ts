/** Description of `hsgate deploy`. @module */
import { command, type Flags, type Input, unconnected } from "./command.ts";

const flags = {
  to: { type: "string", value: "SYSTEM", text: '"crontab", "systemd", "kubernetes" or "deno-cron"' },
  out: { type: "string", value: "DIR", text: "folder for the files; made where it is missing" },
  ledger: { type: "string", value: "FILE", text: "the ledger over there (hsgate.db in --dir)" },
  dir: { type: "string", value: "DIR", text: "folder that the recipes run in over there (the current one)" },
  deno: { type: "string", value: "FILE", text: "the Deno program over there (the one that runs this)" },
  program: { type: "string", value: "FILE", text: "tasks/hsgate.ts over there (the one that runs)" },
  user: { type: "boolean", text: "systemd: units for a user's own systemd, not the machine's" },
  "run-as": { type: "string", value: "NAME", text: "systemd: who runs the services (hsgate)" },
  as: { type: "string", value: "KIND", text: 'kubernetes: "jobs", one each, or one "scheduler" (jobs)' },
  image: { type: "string", value: "IMAGE", text: "kubernetes: the image (hsgate:latest)" },
  timeline: {
    type: "string",
    value: "NAME",
    text: "deno-cron: the timeline that may trade, such as production",
  },
  force: { type: "boolean", text: "write over files that are there" },
} as const satisfies Flags;
/** What it is given. */
export type DeployInput = Input<typeof flags>;

/** Writes files for other systems. */
export const deploy = command({
  name: "deploy",
  summary: "write a crontab, systemd units, Kubernetes manifests or a Deno.cron program",
  usage: "[DIR | RECIPE …] --to SYSTEM",
  args: [0, 1000],
  details: `That system then starts each recipe at every time that can be right, in the zone of
its exchange, and the recipe decides by its slots: holidays, half-days, the first
session of a month. A slot has one key, so that it runs once even when several of
these and "schedule" are at work on one ledger. Nothing is installed; what is left to
do is printed. A crontab goes to stdout without --out.

Recipes that trade need a ledger that lasts: one in /tmp or in memory is refused.
Late starts of theirs do nothing, and no timer makes up for them. No file holds a
secret. Kubernetes takes --dir /app, --deno /usr/bin/deno and --ledger
/data/hsgate.db for granted.`,
  flags,
  without: unconnected,
  exits: [],
  examples: [
    "deploy --to crontab",
    "deploy recipes/end_of_day.yaml --to systemd --user --out units",
    "deploy --to kubernetes --image registry.example/hsgate:1 --out k8s",
    "deploy recipes --to deno-cron --out .",
  ],
  body: async () => (await import("./bodies/deploy.ts")).run,
});
