/**
 * JSON that people write: what is wrong with it, with the line on which it stands.
 *
 * @module
 */
import { InvalidParamsError, type Issue } from "../errors.ts";

/** Collects what is wrong with a value, by path. */
export class Faults {
  readonly issues: Issue[] = [];

  /** Notes one fault. */
  add(path: Issue["path"], value: unknown, expected: string): void {
    this.issues.push({ path, value, expected });
  }

  /** Returns a value that has members; those that nobody knows are faults. */
  members(
    value: unknown,
    path: Issue["path"],
    known: readonly string[],
  ): Record<string, unknown> | undefined {
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      this.add(path, value, `an object with ${known.join(", ")}`);
      return undefined;
    }
    for (const key of Object.keys(value)) {
      if (!known.includes(key)) this.add([...path, key], key, `one of ${known.join(", ")}`);
    }
    return { ...value };
  }
}

/** Parses JSON. @throws {InvalidParamsError} With the line where it ends being JSON. */
export function parseJson(text: string, file: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    // The runtime tells the place, but for a text that ends too early.
    const at = Number(/position (\d+)/.exec(error.message)?.[1] ?? text.length);
    const line = text.slice(0, at).split("\n").length;
    const issue = {
      path: [`${file}:${line}`],
      value: text.split("\n")[line - 1]?.trim(),
      expected: "JSON",
    };
    throw new InvalidParamsError(`read "${file}"`, [issue], { code: "calendars" });
  }
}

/** Throws what was found wrong, each with its line. */
export async function refuseFaults(
  faults: Faults,
  { text, file }: { text: string; file: string },
): Promise<void> {
  if (faults.issues.length === 0) return;
  const { LineCounter, parseDocument } = await import("yaml"); // reads JSON, and knows where it read it
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines });
  const lineOf = (path: Issue["path"]): number => {
    for (let length = path.length; length > 0; length--) {
      const node = document.getIn(path.slice(0, length), true);
      const range = typeof node === "object" && node !== null && "range" in node ? node.range : undefined;
      if (Array.isArray(range)) return lines.linePos(Number(range[0])).line;
    }
    return 1;
  };
  const issues = faults.issues.map(({ path, ...rest }) => ({
    ...rest,
    path: [`${file}:${lineOf(path)}: ${path.length === 0 ? "the whole" : path.join(".")}`],
  }));
  throw new InvalidParamsError(`use "${file}"`, issues, { code: "calendars" });
}
