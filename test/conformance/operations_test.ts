/** Runs every operation through the command line, and checks what is sent and what is printed. */
import { assert, assertEquals } from "@std/assert";
import { findOperation } from "../../lib/operations/mod.ts";
import { cli, ENCRYPTED, envOf, folder, PASSWORD, simulate, storeEnv } from "../cli/support.ts";
import { type Case, casesOf } from "./cases.ts";
import { type Exchange, record } from "./recorder.ts";
import { at, mismatches } from "./shapes.ts";

function checkSent(all: Exchange[], { path, wire }: Case): unknown {
  // Before it sends an order write, the order desk reads the lists that would show the order, and the values that its
  // guard rails need.
  const operationAt = (at: string) => findOperation(at.split("/").at(-1)!);
  const isOrder = operationAt(path)?.order !== undefined;
  const exchanges = all.filter((each) => !isOrder || operationAt(each.path)?.effect === "write");
  assertEquals(exchanges.map((each) => [each.method, each.path]), [["POST", path]]);
  const [{ body, contentType, answer }] = exchanges as [Exchange];
  assertEquals(body, { timeout_sec: 10, params: wire });
  assert(contentType?.startsWith("application/json"), `content type ${contentType}`);
  assertEquals({ ok: answer.ok, err: answer.err }, { ok: true, err: "" });
  return answer.data;
}

Deno.test("call sends all 53 operations as documented, and decodes the documented answers", async (t) => {
  await using gateway = await simulate();
  await using recorder = record(gateway.info.gatewayUrl);
  await using files = await folder();
  // There is no password, so that the client does not log in automatically and each call sends one request. The
  // prices of the documented orders are far from the simulator's market.
  const env = {
    HSGATE_GATEWAY_URL: recorder.url,
    ...storeEnv(files),
    HSGATE_PRICE_COLLAR: "off",
    HSGATE_QUOTE_MAX_AGE: "off",
    HSGATE_ALLOW_SHORT: "allow",
  };
  const keyed = { ...envOf(gateway), HSGATE_GATEWAY_URL: recorder.url };
  const paths = new Set<string>();

  async function call(name: string, params: unknown, flags: string[]): Promise<unknown> {
    const { code, out, err } = await cli(["call", name, JSON.stringify(params), "--json", ...flags], { env });
    assertEquals({ code, err: err.replace(/hsgate: this is one page.*\n/, "") }, { code: 0, err: "" });
    return JSON.parse(out);
  }

  for (const spelling of ["wire", "ours"] as const) {
    await t.step(`${spelling}: TradeLogin`, async () => {
      const outcome = spelling === "wire"
        ? await cli(["call", "TradeLogin", "-", "--json"], {
          env: keyed,
          stdin: JSON.stringify({ password: PASSWORD }),
        })
        : await cli(["call", "account.login", "--json"], { env: keyed });
      assertEquals({ code: outcome.code, err: outcome.err }, { code: 0, err: "" });
      assertEquals(JSON.parse(outcome.out), { success: true });
      const exchanges = recorder.take();
      const wire = { password: ENCRYPTED };
      checkSent(exchanges, { path: "/trade/TradeLogin", wire, ours: ["", {}], data: {} });
      paths.add("/trade/TradeLogin");
    });

    const made: Record<string, string> = {};
    for (let index = 0; index < casesOf(made).length; index++) {
      const each = casesOf(made)[index]!;
      const name = each.path.split("/").at(-1)!;
      await t.step(`${spelling}: ${each.path} (${each.ours[0]})`, async () => {
        const answer = spelling === "wire"
          ? await call(name, each.wire, ["--wire"])
          : await call(each.ours[0], each.ours[1], []);
        const data = checkSent(recorder.take(), each);
        assertEquals(mismatches(data, each.data), []);
        paths.add(each.path);
        if (spelling === "wire") assertEquals(mismatches(answer, each.data), []);
        else {
          for (const [ours, wire] of each.same ?? []) {
            assert(at(data, wire) !== undefined, `the answer has ${wire}`);
            assertEquals(String(at(answer, ours)), String(at(data, wire)), `${ours} is ${wire}`);
          }
          for (const [ours, value] of each.is ?? []) assertEquals(at(answer, ours), value, ours);
        }
        if (each.makes !== undefined) made[each.makes] = String(at(data, "data") ?? at(data, "entrustId.0"));
        if (each.wait !== undefined) {
          gateway.clock.advance(each.wait);
          gateway.round();
        }
      });
    }
  }
  assertEquals(paths.size, 53);
});
