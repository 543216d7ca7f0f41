import type { Clock } from "../clock.ts";
import { type OperationName, type OrderPush, Refusal } from "../contract.ts";
import { SimulatedMarket } from "../market/mod.ts";
export class Broker {
  readonly market: SimulatedMarket;
  #l = new Set<(p: OrderPush) => void>();
  #n = 0;
  #clock: Clock;
  constructor(o: { seed: number; clock: Clock; days: number; fillsPerDay: number }) {
    this.market = new SimulatedMarket({ seed: o.seed });
    this.#clock = o.clock;
  }
  // deno-lint-ignore no-explicit-any -- stand-in
  call(name: OperationName, params: any): unknown {
    const at = this.#clock.now();
    if (name === "quotes.latest") {
      return params.securities.map((security: { symbol: string }) => {
        if (!this.market.instrument(security.symbol)) throw new Refusal("1016", "unknown");
        const q = this.market.quote(security.symbol, at);
        return { security, lastPrice: q.lastPrice, volume: q.volume };
      });
    }
    if (name === "quotes.orderBook") {
      const b = this.market.orderBook(params.security.symbol, at);
      return { security: params.security, asks: b.asks, bids: b.bids, priceStep: 0.1 };
    }
    if (name === "orders.place") {
      const orderId = String(++this.#n);
      for (const l of this.#l) {
        l({
          kind: "stock",
          at,
          update: { symbol: params.symbol, orderId, quantity: params.quantity } as never,
        });
      }
      return { orderId };
    }
    if (name === "fills.history") {
      const start = Number(params.cursor);
      return Array.from({ length: Math.min(params.limit, 250 - start) }, (_, i) => ({
        symbol: "00700.HK",
        side: "buy",
        fillPrice: "1.00",
        filledQuantity: "100",
        cursor: String(start + i + 1),
      }));
    }
    return [];
  }
  onOrderPush(l: (p: OrderPush) => void): () => void {
    this.#l.add(l);
    return () => this.#l.delete(l);
  }
  settle(): void {}
}
