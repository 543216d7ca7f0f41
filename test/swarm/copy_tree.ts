/**
 * Copies the source with one change, for {@linkcode mutations}.
 *
 * @module
 */

/** A text of a file, and what replaces it. */
interface Change {
  from: string;
  to: string;
}

/** A changed copy, with a program that runs the swarm until a seed fails. */
export async function copyTree(
  { file, within, also, ...change }: Change & { file: string; within: number; also?: Change },
): Promise<{ path: string; main: string } & AsyncDisposable> {
  const root = new URL("../../", import.meta.url).pathname;
  const path = await Deno.makeTempDir({ prefix: "hsgate-mutation-" });
  for (const name of ["deno.json", "deno.lock", "mod.ts"]) {
    await Deno.copyFile(`${root}${name}`, `${path}/${name}`);
  }
  for (const name of ["lib", "proto"]) await copyFolder(`${root}${name}`, `${path}/${name}`);
  let source = await Deno.readTextFile(`${path}/${file}`);
  for (const { from, to } of [change, ...also === undefined ? [] : [also]]) {
    const parts = source.split(from);
    if (parts.length !== 2) throw new Error(`"${from}" occurs ${parts.length - 1} times in ${file}`);
    source = parts.join(to);
  }
  await Deno.writeTextFile(`${path}/${file}`, source);
  const main = `${path}/main.ts`;
  await Deno.writeTextFile(
    main,
    `import { swarm } from "./lib/swarm/mod.ts";
const stop = new AbortController();
const { failures } = await swarm({
  seeds: ${within},
  shrinks: false,
  signal: stop.signal,
  onSeed: ({ failure }) => failure && stop.abort(),
});
const [first] = failures;
if (first !== undefined) console.log(JSON.stringify({ seed: first.seed, invariant: first.invariant, what: first.what }));
`,
  );
  return { path, main, [Symbol.asyncDispose]: () => Deno.remove(path, { recursive: true }) };
}

async function copyFolder(from: string, to: string): Promise<void> {
  await Deno.mkdir(to);
  for await (const { name, isDirectory } of Deno.readDir(from)) {
    if (isDirectory) await copyFolder(`${from}/${name}`, `${to}/${name}`);
    else await Deno.copyFile(`${from}/${name}`, `${to}/${name}`);
  }
}
