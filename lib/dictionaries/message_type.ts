/**
 * Builds tables of the request, answer and push numbers of the socket from `proto/message_types.proto`, the only file
 * that lists them.
 *
 * @module
 */
import definitions from "../../proto/message_types.proto" with { type: "text" };
import { Dictionary } from "./dictionary.ts";

function fromProto(wire: string, enumeration: string, suffix: string): Dictionary {
  const body = new RegExp(`enum ${enumeration} \\{([^}]*)\\}`).exec(definitions)?.[1];
  if (body === undefined) {
    throw new TypeError(`Cannot find enum "${enumeration}" in proto/message_types.proto`);
  }
  const entries = [...body.matchAll(/^ *(\w+) = (\d+)/gm)].map(([, name = "", code = ""]) => ({
    code,
    name: name.replace(new RegExp(`${suffix}$`), ""),
    label: name,
  }));
  return new Dictionary({ wire, type: "int", source: "vendor Python SDK 1.1.2" }, entries);
}

/** Request numbers, named without the suffix `RequestMsgType`. */
export const RequestType: Dictionary = fromProto("requestMsgType", "RequestMsgType", "RequestMsgType");
/** Answer numbers, named without the suffix `ResponseMsgType`. */
export const ResponseType: Dictionary = fromProto("responseMsgType", "ResponseMsgType", "ResponseMsgType");
/** Push numbers, named without the suffix `MsgType`. */
export const NotifyType: Dictionary = fromProto("notifyMsgType", "NotifyMsgType", "MsgType");
