/**
 * Code tables for fields of the frame header.
 *
 * @module
 */
import { dictionary } from "./dictionary.ts";
import type { NameOf } from "./dictionary.ts";

/** Kind of a frame. */
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
/** Kind of a frame. */
export type FrameType = NameOf<typeof FrameType>;

/** Format of a frame's body. */
export const BodyFormat = dictionary({
  wire: "headerProtoFmtType",
  type: "int",
  source: "API document, vendor Python SDK 1.1.2",
  values: {
    "0": ["protobuf", "protobuf"],
  },
});
/** Format of a frame's body. */
export type BodyFormat = NameOf<typeof BodyFormat>;

/** Compression of a frame's body. */
export const Compression = dictionary({
  wire: "headerCompressAlgorithm",
  type: "int",
  source: "API document, vendor Python SDK 1.1.2",
  values: {
    "0": ["none", "none"],
  },
});
/** Compression of a frame's body. */
export type Compression = NameOf<typeof Compression>;
