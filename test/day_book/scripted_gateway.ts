/**
 * A gateway that answers with rows written by hand, for what the simulated broker never does: wrong sums, odd
 * numbers, unknown codes, identical rows. Real HTTP, in the broker's own spelling.
 *
 * @module
 */
import { type Client, createClient } from "../../lib/client/client.ts";
import { gateway } from "../../lib/transports/gateway.ts";

/** A row in the broker's spelling. */
export type WireRow = Record<string, unknown>;

/** Rows by wire name of the operation, `exchangeType` and day, such as `TradeQueryHistoryDeliverList K 20250815`. */
export type Script = Record<string, WireRow[]>;

/** A running scripted gateway, and a client of it. */
export interface ScriptedGateway extends AsyncDisposable {
  client: Client;
  /** Calls so far, as `name exchangeType day cursor`. */
  calls: string[];
  script: Script;
}

/** Starts one. Lists that the script does not name are empty; futures are refused unless it names them. */
export function scriptedGateway(script: Script): ScriptedGateway {
  const calls: string[] = [];
  const state = { script };
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    const name = new URL(request.url).pathname.split("/").at(-1)!;
    const { params } = await request.json();
    const key = [name, params.exchangeType, params.startDate].filter(Boolean).join(" ");
    calls.push(`${key} ${params.queryParamStr ?? params.pageNo ?? ""}`.trim());
    const rows = state.script[key];
    if (rows === undefined && name.startsWith("Futures")) {
      return Response.json({ ok: false, err: "1007 no futures account", data: null });
    }
    const start = Number(params.queryParamStr ?? 0);
    const page = (rows ?? []).slice(start, start + (params.queryCount ?? 99))
      .map((row, index) => ({ ...row, queryParamStr: String(start + index + 1) }));
    // Digits that a double would lose must be on the wire as they were written.
    const text = JSON.stringify(page).replaceAll(/"raw:([^"]*)"/g, "$1");
    return new Response(`{"ok":true,"err":"","data":{"data":${text}}}`);
  });
  const client = createClient(gateway({ url: `http://127.0.0.1:${server.addr.port}` }), {
    retry: { waitMs: 1 },
  });
  return {
    client,
    calls,
    get script() {
      return state.script;
    },
    set script(next) {
      state.script = next;
    },
    async [Symbol.asyncDispose]() {
      await client.close();
      await server.shutdown();
    },
  };
}

/** Reads every file of a folder, by path, sorted: for comparing two folders byte for byte. */
export function readTree(folder: string, prefix = ""): Record<string, string> {
  const files: Record<string, string> = {};
  for (
    const { name, isDirectory } of [...Deno.readDirSync(folder)].sort((a, b) => a.name < b.name ? -1 : 1)
  ) {
    const path = `${folder}/${name}`;
    if (isDirectory) Object.assign(files, readTree(path, `${prefix}${name}/`));
    else files[prefix + name] = Deno.readTextFileSync(path);
  }
  return files;
}
