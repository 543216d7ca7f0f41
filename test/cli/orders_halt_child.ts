// deno-lint-ignore-file no-console -- a program that reports to the test that started it
/**
 * Places orders one after the other, each at another price, until its input ends. Prints a line for each attempt: `sent`,
 * or the code of the error.
 *
 * @module
 */
import { connect } from "../../lib/desk/connect.ts";
import { add } from "../../lib/decimal.ts";
import { BrokerError } from "../../lib/errors.ts";
import { ORDER } from "../conformance/simulated_account.ts";

const [url = "", tradePasswordKey = "", tradePassword = "", store = ""] = Deno.args;
await using client = await connect({
  gateway: { url, tradePasswordKey, timeoutMs: 300_000 },
  tradePassword,
  store,
  limits: { liveTrading: "allow", maxOrdersPerMinute: "off", priceCollar: "off", quoteMaxAge: "off" },
});
let isStopped = false;
const stopped = Array.fromAsync(Deno.stdin.readable).then(() => isStopped = true);
for (let price = "1.00"; !isStopped; price = add(price, "0.01")) {
  try {
    await client.orders.place({ ...ORDER, price });
    console.log("sent");
  } catch (error) {
    if (!(error instanceof BrokerError)) throw error;
    console.log(error.code);
  }
}
await stopped;
