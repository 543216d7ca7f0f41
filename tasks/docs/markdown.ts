/**
 * Writes the common parts of the reference pages: the first line, tables, links, and the support of each transport
 * for an operation.
 *
 * @module
 */
import { type AnyOperation, gatewayPath } from "../../lib/operations/operation.ts";

/** The first line of each page. */
export const notice =
  "<!-- Written by `deno task docs` from the catalogue in lib/operations: edit there. -->\n";

/** A transport to the account; `memory` is a function instead of the gateway. */
export type TransportName = "memory" | "gateway" | "direct";

/** Returns the file name of a family's page, without its ending. */
export const fileOf = (family: string): string =>
  family.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** Returns the anchor of a heading on its page. */
export const anchorOf = (heading: string): string =>
  heading.toLowerCase().replaceAll(/[^a-z0-9 -]/g, "").replaceAll(" ", "-");

/** Returns a link to an operation's section. */
export function linkTo({ name }: AnyOperation): string {
  const [family = ""] = name.split(".");
  return `[\`${name}\`](${fileOf(family)}.md#${anchorOf(name)})`;
}

/** Returns why a transport does not support an operation. @returns `undefined` if it does. */
export function whyNot(operation: AnyOperation, transport: TransportName): string | undefined {
  const { socket, platformPath, reserved } = operation;
  // The memory transport uses the gateway's paths.
  if (transport !== "direct") {
    return gatewayPath(operation) === undefined ? "not offered by the gateway" : undefined;
  }
  if (reserved !== undefined) return reserved;
  // The direct transport also supports operations that the platform answers over HTTP.
  return "gap" in socket && platformPath === undefined ? socket.gap : undefined;
}

/** Returns how the gateway and the direct transport carry an operation, or why they do not. */
export function carriers(operation: AnyOperation): { gateway: string; direct: string } {
  const { socket, platformPath } = operation;
  const [notGateway, notDirect] = [whyNot(operation, "gateway"), whyNot(operation, "direct")];
  return {
    gateway: notGateway !== undefined ? `no: ${notGateway}` : `\`${gatewayPath(operation)}\``,
    direct: notDirect !== undefined
      ? `no: ${notDirect}`
      : "gap" in socket
      ? `platform, \`${platformPath}\``
      : "socket",
  };
}

/** Returns a Markdown table. */
export function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll("|", "\\|").replaceAll("\n", " ")).join(" | ")} |`;
  return [line(heads), line(heads.map(() => "---")), ...rows.map(line)].join("\n");
}

/** Mark of the end of a table that `deno task docs` writes into a page. */
const TABLE_END = "<!-- End of the table. -->";

/**
 * Returns a page with the tables at their marks.
 *
 * @param tables The mark before each table, and the table.
 * @throws {TypeError} If the page lacks a mark.
 */
export function withTables(
  page: string,
  { name, tables }: { name: string; tables: readonly (readonly [mark: string, table: string])[] },
): string {
  let text = page;
  for (const [mark, table] of tables) {
    const begin = text.indexOf(mark);
    const end = text.indexOf(TABLE_END, begin);
    if (begin < 0 || end < 0) throw new TypeError(`Cannot write ${name}: it lacks the marks of a table`);
    text = `${text.slice(0, begin)}${mark}\n\n${table}\n\n${text.slice(end)}`;
  }
  return text;
}
