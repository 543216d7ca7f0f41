// deno-lint-ignore-file no-console -- a script prints to its terminal; `hsgate init` leaves this line out of its copy
/**
 * Prints the fills of the last seven days with their fees. Run: `deno task fees`
 *
 * Amounts are decimal strings. The script adds them with `decimal`, because a JavaScript number would round them.
 *
 * @module
 */
import { decimal, shownLine } from "hsgate";
import { markets, open } from "./account.ts";

const today = Temporal.Now.plainDateISO();
const days = { from: today.subtract({ days: 6 }).toString(), to: today.toString() };

await using client = await open();
for (const market of markets) {
  const amount = new decimal.DecimalSum();
  const fees = new decimal.DecimalSum();
  let fills = 0;
  for await (const fill of client.fills.history({ market, ...days })) {
    const { date, side, filledQuantity, symbol, fillPrice } = fill;
    // A text of the gateway may contain characters that control a terminal.
    console.log(shownLine(`${date} ${side.padEnd(4)} ${filledQuantity} ${symbol} at ${fillPrice}`));
    amount.add(fill.fillAmount ?? "0");
    fees.add(fill.fees?.total ?? "0"); // absent until the day has been cleared
    fills++;
  }
  // Markets can have different currencies, so amounts of different markets are not added up.
  console.log(`${market}: ${fills} fills of ${amount}, fees ${fees}\n`);
}
