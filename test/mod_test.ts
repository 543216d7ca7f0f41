import { assertEquals } from "@std/assert";
import * as face from "../mod.ts";

Deno.test("mod.ts exports exactly these names", () => {
  assertEquals(Object.keys(face).sort(), [
    "BrokerError",
    "BusyError",
    "DisplacedError",
    "InvalidParamsError",
    "LoginExpiredError",
    "LoginRefusedError",
    "MarketClosedError",
    "OutcomeUnknownError",
    "ProtocolError",
    "RejectedError",
    "TransportError",
    "UnmappedError",
    "connect",
    "createClient",
    "decimal",
    "describeDirectEvent",
    "direct",
    "formatOptionCode",
    "gateway",
    "parseOptionCode",
    "securityOf",
    "shownLine",
  ]);
});

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true : false;
type RowOf<M> = M extends (...args: never[]) => AsyncIterable<infer R> ? R : never;

Deno.test("a script can name the types that the client's methods use: records and code tables", () => {
  const order: Equal<RowOf<face.Client["orders"]["today"]>, face.Order> = true;
  const fill: Equal<RowOf<face.Client["fills"]["history"]>, face.Fill> = true;
  const quote: Equal<Awaited<ReturnType<face.Client["quotes"]["latest"]>>, face.AskedQuote[]> = true;
  const status: Equal<face.Order["status"], face.OrderStatus | face.Unlisted | undefined> = true;
  const market: Equal<Parameters<face.Client["account"]["funds"]>[0]["market"], face.Market> = true;
  // @ts-expect-error -- no code table lists this name
  const wrong: face.OrderStatus = "done";
  void [order, fill, quote, status, market, wrong];
});
