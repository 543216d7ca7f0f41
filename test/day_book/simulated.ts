/**
 * Starts the simulated gateway with a client, for exports over real HTTP.
 *
 * @module
 */
import { type Client, createClient } from "../../lib/client/client.ts";
import { type DayBookOptions, type DayBookResult, exportDayBook } from "../../lib/day_book/mod.ts";
import { ManualClock } from "../../lib/time.ts";
import { type GatewayOptions, type SimulatedGateway, startGateway } from "../../lib/simulator/gateway/mod.ts";
import { gateway } from "../../lib/transports/gateway.ts";

/** Friday morning in Hong Kong, in the middle of continuous trading. */
export const FRIDAY_MORNING = Date.parse("2025-08-15T10:30:00+08:00");
/** The Saturday after FRIDAY_MORNING: every market has cleared Friday. */
export const SATURDAY = Date.parse("2025-08-16T20:00:00+08:00");

/** A gateway, a client of it, and its clock. */
export interface Simulated extends AsyncDisposable {
  simulator: SimulatedGateway;
  client: Client;
  clock: ManualClock;
  /** Exports with the simulation's clock. */
  exportDays(
    options: Partial<DayBookOptions> & Pick<DayBookOptions, "from" | "to" | "out">,
  ): Promise<DayBookResult>;
}

/** Starts a simulated gateway with a client. */
export async function simulated(options: Partial<GatewayOptions> & { at?: number } = {}): Promise<Simulated> {
  const { at = SATURDAY, ...rest } = options;
  const clock = new ManualClock(at);
  const simulator = await startGateway({
    seed: 7,
    clock,
    days: 3,
    fillsPerDay: 40,
    pushIntervalMs: 0,
    loginLifeMs: 1e12,
    ...rest,
  });
  const { gatewayUrl, tradePassword, tradePasswordKey } = simulator.info;
  const client = createClient(gateway({ url: gatewayUrl, tradePasswordKey }), {
    tradePassword,
    retry: { waitMs: 1 },
  });
  return {
    simulator,
    client,
    clock,
    exportDays: (wanted) => exportDayBook(client, { markets: ["hk"], now: () => clock.now(), ...wanted }),
    async [Symbol.asyncDispose]() {
      await client.close();
      await simulator.close();
    },
  };
}

/** Buys a board lot at a limit well above the market, and waits for the fill. */
export async function buyOnce({ simulator, client, clock }: Simulated): Promise<string> {
  const order = { market: "hk", symbol: "00700.HK", quantity: "100", side: "buy" } as const;
  const quote = await client.quotes.latest({ securities: [{ type: "hk-stock", symbol: "00700.HK" }] });
  const price = String(Math.floor(Number(quote[0]!.lastPrice) * 1.01));
  const { orderId } = await client.orders.place({ ...order, price, orderType: "enhanced-limit" });
  clock.advance(60_000);
  simulator.round();
  return orderId;
}

/** Returns a temporary folder, removed at the end. */
export function temporaryFolder(): { path: string } & Disposable {
  const path = Deno.makeTempDirSync({ prefix: "day-book-" });
  return { path, [Symbol.dispose]: () => Deno.removeSync(path, { recursive: true }) };
}
