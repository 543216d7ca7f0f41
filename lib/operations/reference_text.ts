/**
 * What the pages of the reference have in common: their head, tables, links, and how a transport carries an
 * operation.
 *
 * @module
 */
import { type AnyOperation, gatewayPath } from "./operation.ts";

/** The first line of each page. */
export const notice =
  "<!-- Written by `deno task docs` from the catalogue in lib/operations: edit there. -->\n";

/** A way to the account; `memory` is a function in the place of the gateway. */
export type Way = "memory" | "gateway" | "direct";

/** Name of a family's page, without its ending. */
export const fileOf = (family: string): string =>
  family.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** Where a heading is found on its page. */
export const anchorOf = (heading: string): string =>
  heading.toLowerCase().replaceAll(/[^a-z0-9 -]/g, "").replaceAll(" ", "-");

/** A link to an operation's section. */
export function linkTo({ name }: AnyOperation): string {
  const [family = ""] = name.split(".");
  return `[\`${name}\`](${fileOf(family)}.md#${anchorOf(name)})`;
}

/** Why a way does not carry an operation; nothing when it does. */
export function whyNot(operation: AnyOperation, way: Way): string | undefined {
  const { socket, platformPath, kept } = operation;
  // A function in the gateway's place is asked by the gateway's paths.
  if (way !== "direct") {
    return gatewayPath(operation) === undefined ? "not offered by the gateway" : undefined;
  }
  if (kept !== undefined) return kept;
  // What the platform answers over HTTP is carried there.
  return "gap" in socket && platformPath === undefined ? socket.gap : undefined;
}

/** How a transport carries an operation, or why it does not. */
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

/** A table of Markdown. */
export function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll("|", "\\|").replaceAll("\n", " ")).join(" | ")} |`;
  return [line(heads), line(heads.map(() => "---")), ...rows.map(line)].join("\n");
}
