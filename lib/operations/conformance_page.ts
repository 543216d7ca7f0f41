/**
 * The conformance table: which way carries which operation or why not, and what the suite holds the ways to. All of
 * it follows from the catalogue; what each file of the suite is about is said by the file itself.
 *
 * @module
 */
import { operations } from "./mod.ts";
import type { AnyOperation } from "./operation.ts";
import { linkTo, notice, table, type Way, whyNot } from "./reference_text.ts";
import type { FieldsInfo } from "./types.ts";

const ways: readonly Way[] = ["memory", "gateway", "direct"];
const folder = "../../test/conformance/";

/** Writes the page. `suite` holds the text of each test file of the suite, by the file's name. */
export function conformancePage(suite: ReadonlyMap<string, string>): string {
  const all = [...operations.values()];
  const counts = ways.map((way) => [
    way,
    `${all.filter((each) => whyNot(each, way) === undefined).length}`,
    `${all.filter((each) => whyNot(each, way) !== undefined).length}`,
  ]);
  const files = [...suite].sort(([a], [b]) => a < b ? -1 : 1).map(([name, text]) =>
    `- [${name}](${folder}${name}): ${headOf(name, text)}`
  );
  return [
    notice,
    "# Conformance",
    "One suite runs over every way to one simulated account: *memory*, a function in the gateway's place; *gateway*, " +
    "HTTP and the push stream; *direct*, the platform and its sockets. An operation that a way does not carry is " +
    "refused with the reason, and nothing is sent.",
    [
      "- *Same answer*: each way is asked, and all say the same, member for member. Members that the socket has no field " +
      "for are left out of the comparison with direct.",
      "- *Same effect*: each way that carries it does it once, in a run of its own, and the reads that follow give the " +
      "same answers over every way.",
      "- *Answer written out*: a single way carries it, so its answer is held against one written by hand.",
    ].join("\n"),
    "## Operations",
    table(["Way", "Carried", "Not carried"], counts),
    table(
      ["Operation", "Effect", "Memory", "Gateway", "Direct", "The suite compares", "Not on the socket"],
      all.map((operation) => [
        linkTo(operation),
        operation.effect,
        ...ways.map((way) => carriage(operation, way)),
        comparison(operation),
        missingOnSocket(operation),
      ]),
    ),
    "## The suite",
    files.join("\n"),
  ].join("\n\n");
}

function carriage(operation: AnyOperation, way: Way): string {
  const reason = whyNot(operation, way);
  return reason === undefined ? "carried" : `no: ${reason}`;
}

function comparison(operation: AnyOperation): string {
  const carried = ways.filter((way) => whyNot(operation, way) === undefined);
  if (carried.length === 0) return "the refusal alone";
  if (carried.length === 1) return "answer written out";
  return operation.effect === "write" ? "same effect" : "same answer";
}

/** Members of the answer that the direct way cannot bring. */
function missingOnSocket(operation: AnyOperation): string {
  const { socket, response } = operation;
  if (whyNot(operation, "direct") !== undefined || "gap" in socket || socket.complete !== undefined) {
    return "";
  }
  // Lists and records stand alone in our answer; the envelope's one member is the wire's.
  const { rows, record } = response.fields ?? {};
  const fields = (rows ?? record)?.type.fields ?? response.fields ?? {};
  return missing(fields).map((name) => `\`${name}\``).join(", ");
}

function missing(fields: FieldsInfo, prefix = ""): string[] {
  return Object.entries(fields).flatMap(([name, { gap, type }]) =>
    gap !== undefined ? [prefix + name] : missing(type.fields ?? {}, `${prefix}${name}.`)
  );
}

/** What a test file says of itself at its head. */
function headOf(name: string, text: string): string {
  const head = /^\/\*\*((?:(?!\*\/)[\s\S])*)\*\//.exec(text)?.[1];
  if (head === undefined) {
    throw new TypeError(`Cannot write reference: "${name}" does not say what it is about`);
  }
  return head.replaceAll(/\s*\n\s*\* ?/g, " ").trim();
}
