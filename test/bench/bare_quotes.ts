/**
 * What nobody can do without to read a stream of quotes: the library of protobuf alone, over the same definitions,
 * and a hand that cuts frames by their length. It shares nothing with the toolkit but the definitions' text.
 *
 * @module
 */
import protobuf from "protobufjs";
import { definitionFiles } from "../../lib/wire/definitions.ts";

/** Bytes in front of a body, and where the body's length and the signature of the plain body stand in them. */
const HEADER = 151;
const LENGTH_AT = 10;
export const SIGNATURE_AT = 14;
export const SIGNATURE_END = 142;

/** Makes a reader of both messages of a push body. */
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
 * Hands over each whole frame between two places, its body and its header as places in the bytes.
 *
 * @returns Where the first frame begins that is not whole.
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
