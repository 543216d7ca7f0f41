/**
 * Code tables for fields of the frame header.
 *
 * @module
 */
import { dictionary } from "./dictionary.ts";
import type { NameOf } from "./dictionary.ts";

/** Names for `headerMsgType`. */
export const FrameType = dictionary({
  wire: "headerMsgType",
  type: "int",
  source: "API document, vendor Python SDK 1.1.2",
  closed: true,
  values: {
    "0": ["heartbeat", "heartbeat"],
    "1": ["request", "request"],
    "2": ["response", "response"],
    "3": ["push", "push"],
  },
});
/** Names for `headerMsgType`. */
export type FrameType = NameOf<typeof FrameType>;

/** Names for `headerProtoFmtType`. */
export const BodyFormat = dictionary({
  wire: "headerProtoFmtType",
  type: "int",
  source: "API document, vendor Python SDK 1.1.2",
  values: {
    "0": ["protobuf", "protobuf"],
  },
});
/** Names for `headerProtoFmtType`. */
export type BodyFormat = NameOf<typeof BodyFormat>;

/** Names for `headerCompressAlgorithm`. */
export const Compression = dictionary({
  wire: "headerCompressAlgorithm",
  type: "int",
  source: "API document, vendor Python SDK 1.1.2",
  values: {
    "0": ["none", "none"],
  },
});
/** Names for `headerCompressAlgorithm`. */
export type Compression = NameOf<typeof Compression>;
