/**
 * A gateway that answers with handwritten rows, for what the simulated broker never does: wrong sums, odd
 * numbers, unknown codes, identical rows. It uses real HTTP and the broker's wire format.
 *
 * @module
 */
import { type Client, createClient } from "../../lib/client/client.ts";
import { gateway } from "../../lib/transports/gateway.ts";

/** A row in the broker's wire format. */
export type WireRow = Record<string, unknown>;

/** Rows by wire name of the operation, `exchangeType` and day, such as `TradeQueryHistoryDeliverList K 20250815`. */
export type Script = Record<string, WireRow[]>;

/** What a call requests. */
export interface ScriptedCall {
  /** Such as `TradeQueryHistoryDeliverList K 20250815`. */
  key: string;
  params: Record<string, string | number | undefined>;
  /** The script's rows for the call; for a range of days, the rows of all days in order. */
  rows: WireRow[];
}

/** A running scripted gateway with a client. */
export interface ScriptedGateway extends AsyncDisposable {
  client: Client;
  /** Its address, for other clients. */
  url: string;
  /** Calls so far, as `name exchangeType day cursor`. */
  calls: string[];
  script: Script;
  /** Returns the whole text of an answer, which replaces the script's; `undefined` uses the script. */
  answer: (asked: ScriptedCall) => string | undefined;
  /** Returns the time of its clock, Unix milliseconds. */
  clock: () => number;
  /** Returns the header `Date` of its answers; by default from its clock. */
  date: () => string;
}

/** Returns the text of a successful answer with the given data as JSON. */
export const okText = (data: string) => `{"ok":true,"err":"","data":${data}}`;
/** Returns the text of a rejection. */
export const refusal = (err: string) => JSON.stringify({ ok: false, err, data: null });

/**
 * Starts a gateway. Lists that the script lacks are empty; futures that it lacks are rejected. The account
 * has funds.
 */
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
    const isOneDay = params.endDate === undefined || params.endDate === params.startDate;
    const given = isOneDay ? state.script[key] : undefined;
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
    // Numbers with more digits than a double must be on the wire as written.
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

/** Returns the rows of all days of a range. */
function rowsBetween(
  script: Script,
  name: string,
  { exchangeType, startDate, endDate }: ScriptedCall["params"],
): WireRow[] {
  const start = [name, exchangeType, ""].filter((each) => each !== undefined).join(" ");
  return Object.keys(script).filter((key) => {
    const day = key.slice(start.length);
    return startDate !== undefined && key.startsWith(start) && day >= String(startDate) &&
      day <= String(endDate);
  }).sort().flatMap((key) => script[key] ?? []);
}

/** Returns every file of a folder by path, sorted, to compare two folders byte for byte. */
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
