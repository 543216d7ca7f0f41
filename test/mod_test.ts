import { assertEquals } from "@std/assert";
import * as face from "../mod.ts";

Deno.test("mod.ts exports these names and no others: a wider public face is a decision", () => {
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
