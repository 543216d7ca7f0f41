/**
 * Provides the texts of `proto/`, and the file that defines each message.
 *
 * @module
 */
import account from "../../proto/account.proto" with { type: "text" };
import common from "../../proto/common.proto" with { type: "text" };
import envelope from "../../proto/envelope.proto" with { type: "text" };
import futures from "../../proto/futures.proto" with { type: "text" };
import messageTypes from "../../proto/message_types.proto" with { type: "text" };
import orders from "../../proto/orders.proto" with { type: "text" };
import quotes from "../../proto/quotes.proto" with { type: "text" };
import session from "../../proto/session.proto" with { type: "text" };
import watchLists from "../../proto/watch_lists.proto" with { type: "text" };

/** Every definition file by name. */
export const definitionFiles: Readonly<Record<string, string>> = {
  "account.proto": account,
  "common.proto": common,
  "envelope.proto": envelope,
  "futures.proto": futures,
  "message_types.proto": messageTypes,
  "orders.proto": orders,
  "quotes.proto": quotes,
  "session.proto": session,
  "watch_lists.proto": watchLists,
};

let index: ReadonlyMap<string, string> | undefined;

/** Returns the name of the file that defines a message, or `undefined` if no file does. */
export function fileOfMessage(message: string): string | undefined {
  index ??= new Map(
    Object.entries(definitionFiles).flatMap(([file, text]) =>
      [...text.matchAll(/^message (\w+)/gm)].map(([, name = ""]) => [name, file] as const)
    ),
  );
  return index.get(message);
}

/** Returns the names of the files in `proto/` that a file imports. */
export function importsOf(file: string): string[] {
  const names = [...(definitionFiles[file] ?? "").matchAll(/^import "([^"]+)";/gm)].map(([, name = ""]) =>
    name
  );
  return names.filter((name) => Object.hasOwn(definitionFiles, name));
}
