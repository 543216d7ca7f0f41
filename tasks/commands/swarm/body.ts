/**
 * Runs `hsgate swarm`.
 *
 * @module
 */
import { faultNames, swarm, type SwarmFailure, type SwarmResult } from "../../../lib/swarm/mod.ts";
import { UsageError } from "../../terminal/exit_codes.ts";
import type { SwarmInput } from "../swarm.ts";

/** Runs the seeds, and prints what failed. */
export async function run({ flags, host }: SwarmInput): Promise<number> {
  const only = flags.seed === undefined ? undefined : numberOf("seed", flags.seed);
  if (only !== undefined && (flags.seeds ?? flags["from-seed"]) !== undefined) {
    throw new UsageError("Cannot use --seed with --seeds or --from-seed: it runs one seed");
  }
  if (flags.log && only === undefined) {
    throw new UsageError("Cannot use --log for many seeds: name one with --seed");
  }
  if (flags.log && flags.json) throw new UsageError("Cannot use --log with --json: both write to the output");
  const seeds = only === undefined ? numberOf("seeds", flags.seeds ?? "20") : 1;
  const began = performance.now();
  let done = 0;
  let failed = 0;
  const result = await swarm({
    seeds,
    fromSeed: only ?? numberOf("from-seed", flags["from-seed"] ?? "1"),
    days: numberOf("days", flags.days ?? "1"),
    shrinks: !flags["no-shrink"] && only === undefined,
    signal: host.signal,
    ...flags.log && { onLog: (line: string) => host.out(line) },
    onSeed({ seed, failure }) {
      done++;
      if (failure !== undefined) failed++;
      host.errTerminal?.draw("\r\x1b[K", `seed ${seed}: ${done} of ${seeds} done, ${failed} failed`);
    },
  });
  host.errTerminal?.draw("\r\x1b[K");
  if (flags.json) host.out(JSON.stringify(result));
  else for (const line of linesOf(result, (performance.now() - began) / 1000)) host.out(line);
  return result.failures.length > 0 ? 1 : 0;
}

function numberOf(name: string, text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new UsageError(`Cannot use --${name} ${text}: write a whole number from 1 to 999999999`);
}

/** Returns what `hsgate swarm` prints without `--json`. */
export function linesOf(
  { seeds, days, events, failures, coverage, neverSeen, unreachable, plans }: SwarmResult,
  seconds: number,
): string[] {
  const kinds = [...new Set(Object.values(coverage).flatMap((row) => Object.keys(row)))].sort();
  const states = Object.keys(coverage).sort();
  const never = faultNames.filter((kind) => !kinds.includes(kind));
  const gaps = Object.entries(neverSeen).flatMap(([state, missing]) => {
    const rest = missing.filter((kind) => !never.includes(kind));
    if (rest.length === 0) return [];
    return [`  ${state}: ${coverage[state] === undefined ? "no fault at all" : rest.join(", ")}`];
  });
  return [
    ...failures.flatMap(failureLines),
    ...kinds.length === 0 ? [] : ["Faults that struck while an intent was in a state:"],
    ...kinds.map((kind) => {
      const counts = states.flatMap((state) =>
        coverage[state]?.[kind] === undefined ? [] : [`${state} ${coverage[state][kind]}`]
      );
      return `  ${kind}: ${counts.join(", ")}`;
    }),
    ...kinds.length === 0 || gaps.length === 0
      ? []
      : ["Faults that can strike while an intent is in the state, and did not:", ...gaps],
    ...unreachable.map(({ state, reason }) => `No fault can strike in the state ${state}: ${reason}`),
    ...never.length === 0 ? [] : [`Faults that never struck: ${never.join(", ")}`],
    ...Object.keys(plans).length === 0 ? [] : [
      `Rebalancing plans in the evening: ${
        Object.entries(plans).map(([state, count]) => `${state} ${count}`).join(", ")
      }`,
    ],
    `${seeds} ${seeds === 1 ? "seed" : "seeds"}, ${days} trading ${
      days === 1 ? "day" : "days"
    }, ${events} events in ${seconds.toFixed(1)} s ` +
    `(${(days / seconds).toFixed(1)} days a second): ` +
    (failures.length === 0 ? "every invariant held" : `${failures.length} failed`),
  ];
}

function failureLines({ seed, invariant, what, at, faults }: SwarmFailure): string[] {
  return [
    `Seed ${seed} failed at ${at}: ${invariant}: ${what}`,
    ...faults.map(({ atMs, kind, size, state }) =>
      `  { atMs: ${atMs}, kind: "${kind}", size: ${size}${
        state === undefined ? "" : `, state: "${state}"`
      } },`
    ),
    `  To see every event: hsgate swarm --seed ${seed} --log`,
  ];
}
