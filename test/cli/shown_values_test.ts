/** Tests that no text of the broker changes the shape of a command's JSON or table, or any other value in it. */
import { assertEquals } from "@std/assert";
import { connect } from "../../mod.ts";
import { randomFrom } from "../../lib/time.ts";
import { shownLine } from "../../lib/shown_text.ts";
import { InterruptedError } from "../../tasks/terminal/exit_codes.ts";
import { push, startPushFarEnd } from "../support/push_far_end.ts";
import { cli, folder, KEY } from "./support.ts";

const PASSWORD = 'Tr4de"pa\\ss';
const SEED = Math.floor(Math.random() * 2 ** 32);

/** Parts of texts that look like the beginning or the end of a password, an address or a member. */
const PARTS = [
  ...["password=", "password='", 'password="', "PASSWORD = '", "x", "it's", "'", '"', "\\", '\\"', "&", "@"],
  ...["postgres://u:", "https://:", "u:pw@h", "%40", "%3A", "\n", "\t", "\x1b[2J", "\u202e", "},{", '":"'],
  ...["騰訊", "🙂", " ", "[secret]", "null", "1234567890", "?token=", "key=", "//a:b@c", PASSWORD],
];

/** Returns texts of the broker: each between the first and the last has one to five parts. */
function texts(count: number): string[] {
  const next = randomFrom(SEED);
  const pick = () => PARTS[Math.floor(next() * PARTS.length)]!;
  const made = Array.from({ length: count - 2 }, () => Array.from({ length: 1 + 5 * next() }, pick).join(""));
  // The first text begins a password, and the last one ends it.
  return ["password='", ...made, "it's"];
}

/** Returns the value that a command may show: only the password in its texts is hidden. */
function hidden(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value),
    (_key, each) => typeof each === "string" ? each.replaceAll(PASSWORD, "[secret]") : each,
  );
}

/** A gateway that answers every read with holdings of these names, or rejects every call with the first name. */
function gateway(names: readonly string[], isOk = true): { url: string } & AsyncDisposable {
  const holdsList = names.map((stockName, index) => ({
    stockCode: `${index}`.padStart(5, "0"),
    stockName,
    exchangeType: "K",
    currentAmount: `${index}`,
    [`x${stockName}`]: stockName,
  }));
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, () =>
    Response.json(
      isOk
        ? { ok: true, err: "", data: { holdsList, success: true } }
        : { ok: false, err: `9999 ${names[0]}`, data: null },
    ));
  return { url: `http://127.0.0.1:${server.addr.port}`, [Symbol.asyncDispose]: () => server.shutdown() };
}

const envFor = (url: string, more: Record<string, string> = {}) => ({
  HSGATE_GATEWAY_URL: url,
  HSGATE_TRADE_PASSWORD: PASSWORD,
  HSGATE_TRADE_PASSWORD_KEY: KEY,
  ...more,
});

Deno.test("call --json prints every row and member of an answer, whatever its texts contain", async () => {
  const names = texts(200);
  await using at = gateway(names);
  await using client = await connect({ gateway: { url: at.url } });
  const answer = await client.account.holdings({ market: "hk" });
  for (const more of [["--json"], []]) {
    const { out } = await cli(["call", "account.holdings", '{"market":"hk"}', ...more], {
      env: envFor(at.url),
    });
    assertEquals(JSON.parse(out), hidden(answer), `seed ${SEED}`);
  }
  const { out } = await cli(["call", "account.holdings", '{"market":"hk"}', "--json", "--wire"], {
    env: envFor(at.url),
  });
  const { holdsList } = JSON.parse(out);
  assertEquals(
    holdsList.map((row: Record<string, unknown>) => [row.stockName, Object.keys(row).length]),
    names.map((name) => [hidden(name), 5]),
    `seed ${SEED}`,
  );
});

Deno.test("call --columns prints one line for each row, whatever its texts contain", async () => {
  const names = texts(200);
  await using at = gateway(names);
  const { out } = await cli(["call", "account.holdings", '{"market":"hk"}', "--columns", "symbol,name"], {
    env: envFor(at.url),
  });
  const [, ...lines] = out.split("\n").slice(0, -1);
  const cells = (line: string) => [line.slice(0, 5), line.slice(5).trim()];
  // A cell is one line, and the password is hidden in what is left of the text.
  const expected = names.map((name, index) =>
    cells(`${index}`.padStart(5, "0") + shownLine(name).replaceAll(PASSWORD, "[secret]"))
  );
  assertEquals(lines.map(cells), expected, `seed ${SEED}`);
});

Deno.test("watch --json prints every push as one line with all its members, whatever its texts contain", async () => {
  const names = texts(200);
  await using at = gateway(["x"]);
  await using far = startPushFarEnd();
  const controller = new AbortController();
  const stop = new InterruptedError("interrupted");
  const lines: Record<string, { symbol: string; name?: string; remark?: string; orderId: string }>[] = [];
  const running = cli(["watch", "00700.HK", "--json"], {
    env: envFor(at.url, { HSGATE_PUSH_ADDRESS: `127.0.0.1:${far.port}` }),
    // A push that never comes must not block the tests forever.
    signal: AbortSignal.any([controller.signal, AbortSignal.timeout(20_000)]),
    onLine(line) {
      if (JSON.parse(line).type === "order") lines.push(JSON.parse(line));
      if (lines.length === names.length) controller.abort(stop);
    },
  });
  const connection = await Promise.race([
    far.next(),
    running.then(({ err }) => Promise.reject(new Error(err))),
  ]);
  await connection.send(...names.map((stockName, index) =>
    push(1, "TradeStockDeliverNotify", {
      ...{ fundAccount: "88001", stockCode: "00700.HK", stockName, entrustNo: `${index}` },
      ...{ entrustBs: "1", entrustStatus: "2", exchangeType: "K", remark: stockName, recordNo: `${index}` },
    }, Date.now())
  ));
  await running;
  assertEquals(
    lines.map(({ data }) => [data?.orderId, data?.symbol, data?.name ?? ""]),
    names.map((name, index) => [`${index}`, "00700.HK", hidden(name)]),
    `seed ${SEED}`,
  );
});

/** Returns the shape of a value: the names of its members, the lengths of its lists, and the types of the rest. */
const shapeOf = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.map(shapeOf)
    : typeof value === "object" && value !== null
    ? Object.fromEntries(Object.entries(value).map(([name, each]) => [name, shapeOf(each)]))
    : typeof value;

Deno.test("runs --json, runs show --json and JSON log lines keep their shape, whatever the broker's texts contain", async () => {
  await using dir = await folder();
  const path = `${dir.path}/r.yaml`;
  await Deno.writeTextFile(
    path,
    "name: r\nsteps:\n  - { id: rows, uses: account.holdings, with: { market: hk } }\n",
  );
  let count = 0;
  /** Runs the recipe and returns everything that the commands print as JSON. */
  const printed = async (names: readonly string[], isOk: boolean): Promise<unknown[]> => {
    await using at = gateway(names, isOk);
    const store = ["--store", `${dir.path}/${count++}.db`];
    const world = { env: envFor(at.url), fromDisk: true };
    const ran = await cli(["run", path, ...store, "--manual", "--json", "--events"], world);
    const runs = await cli(["runs", ...store, "--json"], world);
    const shown = await cli(["runs", "show", JSON.parse(ran.out).key, ...store, "--json"], world);
    const lines = [ran.out, ...ran.err.trimEnd().split("\n"), runs.out, shown.out];
    return lines.map((line) => JSON.parse(line));
  };
  for (const name of texts(20)) {
    for (const isOk of [true, false]) {
      const said = JSON.stringify({ seed: SEED, name, isOk });
      const [hostile, harmless] = [await printed([name, "it's"], isOk), await printed(["x", "x"], isOk)];
      assertEquals(shapeOf(hostile), shapeOf(harmless), said);
      if (!isOk) continue;
      const { steps } = hostile.at(-1) as { steps: { output: { name?: string }[] }[] };
      assertEquals(steps[0]?.output.map((row) => row.name ?? ""), [hidden(name), "it's"], said);
    }
  }
});
