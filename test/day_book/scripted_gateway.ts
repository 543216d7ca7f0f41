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

/** What a call asks for. */
export interface Asked {
  /** Such as `TradeQueryHistoryDeliverList K 20250815`. */
  key: string;
  params: Record<string, string | number | undefined>;
  /** What the script has for it; for a range of days, their rows one day after the other. */
  rows: WireRow[];
}

/** A running scripted gateway, and a client of it. */
export interface ScriptedGateway extends AsyncDisposable {
  client: Client;
  /** Its address, for other clients. */
  url: string;
  /** Calls so far, as `name exchangeType day cursor`. */
  calls: string[];
  script: Script;
  /** Answers in the place of the script: the text of the whole answer; `undefined` leaves it to the script. */
  answer: (asked: Asked) => string | undefined;
  /** The time of its clock, Unix milliseconds. */
  clock: () => number;
  /** The header `Date` of its answers; that of its clock unless a test says otherwise. */
  date: () => string;
}

/** The text of an answer that says yes, with its data as JSON. */
export const okText = (data: string) => `{"ok":true,"err":"","data":${data}}`;
/** The text of an answer that says no. */
export const refusal = (err: string) => JSON.stringify({ ok: false, err, data: null });

/** Starts one. Lists that the script does not name are empty; futures are refused unless it names them. There are funds. */
export function scriptedGateway(script: Script): ScriptedGateway {
  const calls: string[] = [];
  const state: Pick<ScriptedGateway, "script" | "answer" | "date" | "clock"> = {
    script,
    answer: () => undefined,
    clock: () => Date.parse("2025-08-20T10:00:00+08:00"),
    date: () => new Date(state.clock()).toUTCString(),
  };
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    const name = new URL(request.url).pathname.split("/").at(-1)!;
    const { params } = await request.json();
    const key = [name, params.exchangeType, params.startDate].filter(Boolean).join(" ");
    calls.push(`${key} ${params.queryParamStr ?? params.pageNo ?? ""}`.trim());
    const given = state.script[key];
    const rows = given ?? rowsBetween(state.script, name, params);
    const answer = state.answer({ key, params, rows });
    const response = (text: string) => new Response(text, { headers: { date: state.date() } });
    if (answer !== undefined) return response(answer);
    if (name === "TradeQueryMarginFundInfo") return response(okText('{"assetBalance":"1000000.00"}'));
    if (given === undefined && rows.length === 0 && name.startsWith("Futures")) {
      return response(refusal("1007 no futures account"));
    }
    const most = params.queryCount ?? params.pageSize ?? 99;
    const start = Number(params.queryParamStr ?? ((params.pageNo ?? 1) - 1) * most);
    const page = rows.slice(start, start + most)
      .map((row, index) => ({ ...row, queryParamStr: String(start + index + 1) }));
    // Digits that a double would lose must be on the wire as they were written.
    const text = JSON.stringify(page).replaceAll(/"raw:([^"]*)"/g, "$1");
    return response(okText(`{"data":${text}}`));
  });
  const url = `http://127.0.0.1:${server.addr.port}`;
  const client = createClient(gateway({ url }), {
    retry: { waitMs: 1 },
  });
  return {
    client,
    url,
    calls,
    get script() {
      return state.script;
    },
    set script(next) {
      state.script = next;
    },
    get clock() {
      return state.clock;
    },
    set clock(next) {
      state.clock = next;
    },
    get date() {
      return state.date;
    },
    set date(next) {
      state.date = next;
    },
    get answer() {
      return state.answer;
    },
    set answer(next) {
      state.answer = next;
    },
    async [Symbol.asyncDispose]() {
      await client.close();
      await server.shutdown();
    },
  };
}

/** Rows of all days of a range; each list is asked for a day, or for a range. */
function rowsBetween(
  script: Script,
  name: string,
  { exchangeType, startDate, endDate }: Asked["params"],
): WireRow[] {
  const start = [name, exchangeType, ""].filter((each) => each !== undefined).join(" ");
  return Object.keys(script).filter((key) => {
    const day = key.slice(start.length);
    return startDate !== undefined && key.startsWith(start) && day >= String(startDate) &&
      day <= String(endDate);
  }).sort().flatMap((key) => script[key] ?? []);
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
