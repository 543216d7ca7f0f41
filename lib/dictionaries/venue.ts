/**
 * Code table for US routing venues.
 *
 * @module
 */
import { dictionary } from "./dictionary.ts";
import type { NameOf } from "./dictionary.ts";

/** Routing venue of an order, US only. */
export const RoutingVenue = dictionary({
  wire: "exchange",
  type: "string",
  source: "vendor Python SDK 1.1.2, community Go SDK",
  values: {
    SMART: ["SMART", "smart routing"],
    AMEX: ["AMEX", "routing venue AMEX"],
    ARCA: ["ARCA", "routing venue ARCA"],
    BATS: ["BATS", "routing venue BATS"],
    BEX: ["BEX", "routing venue BEX"],
    BYX: ["BYX", "routing venue BYX"],
    CBOE: ["CBOE", "routing venue CBOE"],
    CHX: ["CHX", "routing venue CHX"],
    DRCTEDGE: ["DRCTEDGE", "routing venue DRCTEDGE"],
    EDGEA: ["EDGEA", "routing venue EDGEA"],
    EDGX: ["EDGX", "routing venue EDGX"],
    IBKRTS: ["IBKRTS", "routing venue IBKRTS"],
    IEX: ["IEX", "routing venue IEX"],
    ISE: ["ISE", "routing venue ISE"],
    ISLAND: ["ISLAND", "routing venue ISLAND"],
    LTSE: ["LTSE", "routing venue LTSE"],
    MEMX: ["MEMX", "routing venue MEMX"],
    NYSE: ["NYSE", "routing venue NYSE"],
    NYSENAT: ["NYSENAT", "routing venue NYSENAT"],
    PEARL: ["PEARL", "routing venue PEARL"],
    PHLX: ["PHLX", "routing venue PHLX"],
    PSX: ["PSX", "routing venue PSX"],
  },
});
/** Routing venue of an order, US only. */
export type RoutingVenue = NameOf<typeof RoutingVenue>;
