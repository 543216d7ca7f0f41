/**
 * What `hsgate trust` does.
 *
 * @module
 */
import { offerTrust, Trust, type TrustOffer } from "../../../lib/runner/trust.ts";
import { type Power, powerText, RecipeError } from "../../../lib/steps/mod.ts";
import { UsageError } from "../exit_codes.ts";
import type { Host } from "../host.ts";
import { paint, plain } from "../print.ts";
import type { TrustInput } from "../trust.ts";
import { recipeFiles } from "./recipe_files.ts";

/** Shows powers and records trust, lists it, or takes it back; ends with 2 when a recipe is wrong. */
export async function run({ args, flags, host }: TrustInput): Promise<number> {
  if (flags.list && flags.remove) throw new UsageError("Cannot use --list with --remove: give one of them");
  const trust = Trust.of(host.env);
  if (flags.list) return await list(trust, { flags, host });
  if (flags.remove) return await remove(trust, { args, flags, host });
  const { offers, wrong } = await offersOf(args, host);
  for (const line of wrong) host.note(`hsgate: ${plain(line)}`);
  const asking = offers.filter(({ record }) => record.powers.length > 0);
  if (!flags.json) { for (const offer of offers) show(offer, host); }
  if (asking.length > 0) {
    await consent(asking, { yes: flags.yes ?? false, host });
    await trust.add(new Map(asking.map(({ path, record }) => [path, record])));
  }
  if (flags.json) host.out(JSON.stringify(offers.map(dataOf)));
  else {
    host.note(
      asking.length === 0
        ? wrong.length > 0
          ? "hsgate: nothing was recorded"
          : "hsgate: nothing was recorded: no recipe needs trust"
        : `hsgate: trusted ${asking.map(({ recipe }) => `"${recipe.name}"`).join(", ")}`,
    );
  }
  return wrong.length > 0 ? 2 : 0;
}

/** Records trust of all recipes of a folder that was just written, without asking. */
export async function trustWritten(paths: readonly string[], host: Host): Promise<void> {
  const { offers } = await offersOf(paths, host);
  const asking = offers.filter(({ record }) => record.powers.length > 0);
  if (asking.length === 0) return;
  await Trust.of(host.env).add(new Map(asking.map(({ path, record }) => [path, record])));
}

async function offersOf(
  paths: readonly string[],
  host: Host,
): Promise<{ offers: TrustOffer[]; wrong: string[] }> {
  const offers = new Map<string, TrustOffer>();
  const wrong: string[] = [];
  for (const { path, refused } of await recipeFiles(paths)) {
    if (refused !== undefined) {
      wrong.push(`${path}:1:1: ${refused}`);
      continue;
    }
    try {
      for (const offer of await offerTrust(path, { at: host.now(), signal: host.signal })) {
        offers.set(offer.path, offer);
      }
    } catch (error) {
      if (!(error instanceof RecipeError)) throw error;
      for (const { line, column, message } of error.issues) {
        wrong.push(`${path}:${line}:${column}: ${message}`);
      }
    }
  }
  return { offers: [...offers.values()], wrong };
}

/** Asks a person. @throws {UsageError} When nobody can be asked, or the answer is no. */
async function consent(
  asking: readonly TrustOffer[],
  { yes, host }: { yes: boolean; host: Host },
): Promise<void> {
  if (yes) return;
  const names = asking.map(({ recipe }) => `"${recipe.name}"`).join(", ");
  if (!host.canAsk) throw new UsageError(`Cannot trust ${names} without a terminal: --yes says so`);
  const answer = await host.ask(`Trust ${names} as shown? [y/N] `);
  if (!/^y(es)?$/i.test(answer)) throw new UsageError(`Cannot trust ${names}: the answer was no`);
}

function show({ recipe, powers }: TrustOffer, host: Host): void {
  host.out(`${paint(host, "bold", recipe.name)}  ${paint(host, "dim", recipe.file)}`);
  for (const line of powerLines(powers, host)) host.out(line);
}

/** One line for each power; those that need trust stand out. */
export function powerLines(powers: readonly Power[], host: Pick<Host, "color">): string[] {
  return powers.map((power) => {
    const line = `  ${plain(powerText(power))}`;
    return power.needsTrust ? paint(host, "yellow", line) : paint(host, "dim", line);
  });
}

/** Powers as JSON. */
export const powerData = (powers: readonly Power[]) =>
  powers.map(({ kind, name, by, needsTrust }) => ({ kind, name, by, needsTrust }));

const dataOf = ({ path, recipe, powers, record }: TrustOffer) => ({
  path,
  name: recipe.name,
  powers: powerData(powers),
  trusted: record.powers.length > 0,
});

async function list(trust: Trust, { flags, host }: Pick<TrustInput, "flags" | "host">): Promise<number> {
  const rows = await Promise.all(
    [...await trust.records()].map(async ([path, { trustedAt }]) => ({
      path,
      trustedAt,
      state: await trust.isUnchanged(path) ? "trusted" : "changed",
    })),
  );
  if (flags.json) host.out(JSON.stringify(rows));
  else if (rows.length === 0) host.out("no recipe is trusted");
  else {for (const { path, trustedAt, state } of rows) {
      host.out(plain(`${state.padEnd(7)}  ${trustedAt}  ${path}`));
    }}
  return 0;
}

async function remove(trust: Trust, { args, flags, host }: TrustInput): Promise<number> {
  if (args.length === 0) throw new UsageError("Cannot remove trust: name the recipes");
  const files: string[] = [];
  for (const path of args) {
    // A recipe whose file is gone can still be taken off the record.
    const isThere = await Deno.stat(path).then(() => true, () => false);
    files.push(...isThere ? (await recipeFiles([path])).map(({ path }) => path) : [path]);
  }
  const removed = await trust.remove(files);
  if (flags.json) host.out(JSON.stringify(removed));
  else if (removed.length === 0) host.out("none of them was trusted");
  else for (const path of removed) host.out(plain(`no longer trusted: ${path}`));
  return 0;
}
