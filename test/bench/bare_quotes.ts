/**
 * Decodes a stream of quotes with the least possible work: only the protobuf library with the same definitions, and a
 * loop that cuts frames by their length. It shares only the definitions with the toolkit.
 *
 * @module
 */
import protobuf from "protobufjs";
import { definitionFiles } from "../../lib/wire/definitions.ts";

/**
 * Length of the header. The constants after it are positions in the header: of the body's length, and of the signature
 * over the plain body.
 */
const HEADER = 151;
const LENGTH_AT = 10;
export const SIGNATURE_AT = 14;
export const SIGNATURE_END = 142;

/** Returns a decoder of both messages of a push body. */
export function bareQuoteReader(): (body: Uint8Array) => unknown {
  const root = new protobuf.Root();
  root.addJSON(protobuf.common.get("google/protobuf/any.proto")!.nested!);
  for (const text of Object.values(definitionFiles)) protobuf.parse(text, root, { keepCase: true });
  root.resolveAll();
  const notify = root.lookupType("PBNotify");
  const quote = root.lookupType("BasicQotNotify");
  return (body) => {
    // The bare message has no types; its payload is an Any.
    const { payload } = notify.decode(body) as unknown as { payload: { value: Uint8Array } };
    return quote.decode(payload.value);
  };
}

/**
 * Calls back for each complete frame in a range, with the positions of its body and its header.
 *
 * @returns The start of the first incomplete frame.
 */
export function splitByHand(
  view: DataView,
  { from, to }: { from: number; to: number },
  take: (header: number, body: number, end: number) => void,
): number {
  let at = from;
  while (at + HEADER <= to) {
    const end = at + HEADER + view.getUint32(at + LENGTH_AT, true);
    if (end > to) break;
    take(at, at + HEADER, end);
    at = end;
  }
  return at;
}
