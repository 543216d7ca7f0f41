// deno-lint-ignore-file no-console -- a task prints to its terminal
/**
 * Runs damaged frames through decoder, decryption and protobuf: a million by default. Prints the seed first, so that
 * a run can be repeated, and one line of JSON at the end. Exits with code 1 if a frame causes any error other than a
 * typed one, if a frame takes a second, or if memory grows.
 *
 * Flags: `--frames N`, `--seed N`.
 *
 * @module
 */
import { fuzz } from "../test/wire/fuzzing.ts";

const GROWTH_ALLOWED = 8 * 1024 * 1024;

const numberOf = (flag: string): number | undefined => {
  const at = Deno.args.indexOf(flag);
  if (at === -1) return undefined;
  const value = Number(Deno.args[at + 1]);
  if (Number.isSafeInteger(value) && value >= 0) return value;
  console.error(`Cannot run: ${flag} needs a whole number`);
  Deno.exit(2);
};

const seed = numberOf("--seed") ?? crypto.getRandomValues(new Uint32Array(1))[0]!;
const frames = numberOf("--frames") ?? 1_000_000;
console.error(`${frames} frames from seed ${seed}`);
const start = performance.now();
const report = await fuzz({
  seed,
  frames,
  onProgress: (done) => {
    if (done * 10 % frames === 0) console.error(`${done} done`);
  },
});
const seconds = Math.round((performance.now() - start) / 1000);
console.log(JSON.stringify({ ...report, seconds }));
const isFlat = report.growth <= GROWTH_ALLOWED;
if (!isFlat) console.error(`Memory grew by ${report.growth} bytes`);
if (report.slowestMs >= 1000) console.error(`One frame took ${Math.round(report.slowestMs)} ms`);
Deno.exit(isFlat && report.slowestMs < 1000 ? 0 : 1);
