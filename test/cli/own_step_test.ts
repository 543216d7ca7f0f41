import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { stepEnvironment } from "../../lib/recipes/own_steps/step_environment.ts";
import { cli, envOf, folder, simulate, spawned } from "./runner_support.ts";

const PASSWORD = "Tr4de-Pa55word";

/** A step that prints in every possible way. */
const chatter = `import { defineStep } from "hsgate/recipes";
export default defineStep({
  effect: "read",
  permissions: { env: ["CITY", "HSGATE_TRADE_PASSWORD_KEY", "OTEL_DENO"] },
  run() {
    console.log("logged %s", "${PASSWORD}");
    console.error("failed ${PASSWORD}");
    Deno.stderr.writeSync(new TextEncoder().encode("stderr ${PASSWORD}\\n"));
    Deno.stdout.writeSync(new TextEncoder().encode("stdout ${PASSWORD}"));
    const city = Deno.env.get("CITY");
    const telemetry = Deno.env.get("OTEL_DENO") ?? "none";
    let hidden = "";
    try {
      hidden = Deno.env.get("STREET") ?? "none";
    } catch (error) {
      hidden = error.name;
    }
    return { city, telemetry, hidden };
  },
});
`;

/** An OpenTelemetry receiver that records every byte. */
function receiver() {
  const got = { text: "" };
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, async (request) => {
    got.text += await request.text();
    return new Response("{}", { headers: { "content-type": "application/json" } });
  });
  return {
    got,
    env: {
      OTEL_DENO: "true",
      OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${server.addr.port}`,
    },
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

Deno.test("the output of a custom step is logged through the redactor, and cannot reach a collector directly", async () => {
  await using gateway = await simulate({ tradePassword: PASSWORD });
  await using otlp = receiver();
  await using dir = await folder({
    "talk.yaml": "name: talk\nsteps: [{ id: chat, uses: ./chatter_step.ts }]\n",
    "chatter_step.ts": chatter,
    "deno.json": JSON.stringify({
      imports: { "hsgate/recipes": new URL("../../lib/recipes/mod.ts", import.meta.url).href },
    }),
  });
  const env = {
    ...envOf(gateway),
    ...otlp.env,
    HSGATE_TRADE_PASSWORD: PASSWORD,
    CITY: "Hong Kong",
    STREET: "Queen's Road",
  };
  const words = ["run", `${dir.path}/talk.yaml`, "--json", "--events"];
  const plain = await spawned(words, { env });
  assertEquals(plain.code, 0, plain.err);
  const { steps } = JSON.parse(plain.out);
  assertEquals(steps[0].output, { city: "Hong Kong", telemetry: "none", hidden: "NotCapable" });
  const kept = await spawned([...words, "--store", `${dir.path}/store.db`], { env });
  assertEquals(kept.code, 0, kept.err);
  const out = plain.out + kept.out;
  const err = plain.err + kept.err;
  for (const each of [plain, kept]) {
    for (const word of ["logged", "failed", "stderr", "stdout"]) {
      assertStringIncludes(each.err, `"message":"${word} [secret]"`);
    }
  }
  assert(otlp.got.text.includes("chat"), "the run itself is exported");
  for (const [where, text] of [["out", out], ["err", err], ["the collector", otlp.got.text]] as const) {
    assert(!text.includes(PASSWORD), `${where} contains the password: ${text}`);
  }
});

Deno.test(
  "stepEnvironment() passes on what Deno needs and what is named, proxies only to steps that use the network, and no telemetry",
  { permissions: "none" },
  () => {
    const environment = {
      PATH: "/bin",
      HTTPS_PROXY: "http://proxy",
      no_proxy: "127.0.0.1",
      OTEL_DENO: "true",
      OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:4318",
      HSGATE_TRADE_PASSWORD: "x",
      DESK_A: "a",
      DESK_B: "b",
    };
    const names = (permissions: { env?: string[]; net?: string[] }) =>
      Object.keys(stepEnvironment(environment, permissions)).sort().join(" ");
    assertEquals(names({}), "NO_COLOR PATH");
    assertEquals(names({ net: ["example.com"] }), "HTTPS_PROXY NO_COLOR PATH no_proxy");
    assertEquals(names({ env: ["DESK_*", "OTEL_*", "OTEL_DENO"] }), "DESK_A DESK_B NO_COLOR PATH");
    assertEquals(names({ env: ["HSGATE_TRADE_PASSWORD"] }), "HSGATE_TRADE_PASSWORD NO_COLOR PATH");
  },
);

Deno.test("check reports a step's missing file with its line, and still checks the other recipes", async () => {
  await using dir = await folder({
    "good.yaml": "name: good\nsteps: [{ id: orders, uses: orders.today, with: { market: hk } }]\n",
    "lost.yaml": "name: lost\nsteps:\n  - id: gone\n    uses: ./steps/none.ts\n",
  });
  const { code, out, err } = await cli(["check", dir.path, "--json"]);
  assertEquals(code, 2, err);
  const { files }: {
    files: { path: string; issues: { line: number; column: number; message: string }[] }[];
  } = JSON.parse(out);
  assertEquals(
    files.map(({ path, issues }) => [
      path.replace(/.*\//, ""),
      ...issues.map(({ line, column, message }) => `${line}:${column}: ${message}`),
    ]),
    [
      ["good.yaml"],
      ["lost.yaml", '4:11: steps.0.uses: Cannot use step "none.ts": there is no such file'],
    ],
  );
});
