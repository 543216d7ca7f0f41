/**
 * Writes the conformance page: the transports that support each operation, why the others do not, and what the suite
 * compares. The table is derived from the catalogue, and the list of test files from their first comments.
 *
 * @module
 */
import { operations } from "../../lib/operations/mod.ts";
import type { AnyOperation } from "../../lib/operations/operation.ts";
import { linkTo, notice, table, type TransportName, whyNot } from "./markdown.ts";
import type { FieldsInfo } from "../../lib/operations/types.ts";

const transports: readonly TransportName[] = ["memory", "gateway", "direct"];
const folder = "../../test/conformance/";

/** Returns the page. `suite` contains the text of each test file of the suite, by file name. */
export function conformancePage(suite: ReadonlyMap<string, string>): string {
  const all = [...operations.values()];
  const counts = transports.map((transport) => [
    transport,
    `${all.filter((each) => whyNot(each, transport) === undefined).length}`,
    `${all.filter((each) => whyNot(each, transport) !== undefined).length}`,
  ]);
  const files = [...suite].sort(([a], [b]) => a < b ? -1 : 1).map(([name, text]) =>
    `- [${name}](${folder}${name}): ${headOf(name, text)}`
  );
  return [
    notice,
    "# Conformance",
    "One suite runs over three transports to one simulated account: *memory*, a function instead of the gateway; " +
    "*gateway*, HTTP and the push stream; *direct*, the platform and its sockets. A call that a transport does not carry " +
    "fails with the reason, and nothing is sent.",
    [
      "- *Same answer*: the suite makes the call over each transport, and all members of the answers are the same. The " +
      "comparison with direct ignores members that the socket has no field for.",
      "- *Same effect*: each transport that carries the write makes it once, each in its own run. The reads that follow " +
      "give the same answers over every transport.",
      "- *Answer written out*: only one transport carries it, so the suite compares its answer with a hand-written one.",
    ].join("\n"),
    "## Operations",
    table(["Transport", "Carried", "Not carried"], counts),
    table(
      ["Operation", "Effect", "Memory", "Gateway", "Direct", "The suite compares", "Not on the socket"],
      all.map((operation) => [
        linkTo(operation),
        operation.effect,
        ...transports.map((transport) => carriage(operation, transport)),
        comparison(operation),
        missingOnSocket(operation),
      ]),
    ),
    "## The suite",
    files.join("\n"),
  ].join("\n\n");
}

function carriage(operation: AnyOperation, transport: TransportName): string {
  const reason = whyNot(operation, transport);
  return reason === undefined ? "carried" : `no: ${reason}`;
}

function comparison(operation: AnyOperation): string {
  const carried = transports.filter((transport) => whyNot(operation, transport) === undefined);
  if (carried.length === 0) return "only the rejection";
  if (carried.length === 1) return "answer written out";
  return operation.effect === "write" ? "same effect" : "same answer";
}

/** Returns the members of the answer that are missing over the socket. */
function missingOnSocket(operation: AnyOperation): string {
  const { socket, response } = operation;
  if (whyNot(operation, "direct") !== undefined || "gap" in socket || socket.complete !== undefined) {
    return "";
  }
  // Our answer is the list or record itself; on the wire it is the only member of an envelope.
  const { rows, record } = response.fields ?? {};
  const fields = (rows ?? record)?.type.fields ?? response.fields ?? {};
  return missing(fields).map((name) => `\`${name}\``).join(", ");
}

function missing(fields: FieldsInfo, prefix = ""): string[] {
  return Object.entries(fields).flatMap(([name, { gap, type }]) =>
    gap !== undefined ? [prefix + name] : missing(type.fields ?? {}, `${prefix}${name}.`)
  );
}

/** Returns the first comment of a test file. */
function headOf(name: string, text: string): string {
  const head = /^\/\*\*((?:(?!\*\/)[\s\S])*)\*\//.exec(text)?.[1];
  if (head === undefined) {
    throw new TypeError(`Cannot write reference: "${name}" has no comment at its start`);
  }
  return head.replaceAll(/\s*\n\s*\* ?/g, " ").trim();
}
