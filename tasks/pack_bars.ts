/**
 * Packs daily bars into the compact form of the simulated market.
 *
 * `deno run --allow-read --allow-write tasks/pack_bars.ts FILE.csv` reads columns `symbol,date,open,high,low,
 * close,volume` and writes `lib/simulator/market/data/bars.json`. Does not change prices.
 *
 * @module
 */
import { parse } from "@std/csv";
import { packBars } from "../lib/simulator/market/packing.ts";

const TARGET = new URL("../lib/simulator/market/data/bars.json", import.meta.url);

const [file] = Deno.args;
if (file === undefined) throw new TypeError("Cannot pack bars: name the CSV file");
const rows = parse(await Deno.readTextFile(file), { skipFirstRow: true });
await Deno.writeTextFile(TARGET, `${JSON.stringify(packBars(rows), null, 2)}\n`);
