/** Tests hangup and repeated Ctrl-C while a write waits for its answer. */
import { assert, assertEquals } from "@std/assert";
import type { SimulatedGateway } from "../../lib/simulator/gateway/mod.ts";
import { cli, envOf, simulate } from "./support.ts";

const SENT = "hsgate: stopping; waiting for the answer to orders.place, which was sent\n";
const WAITING =
  "hsgate: waiting for the answer to orders.place, which was sent; a third Ctrl-C ends the program at once, and " +
  "then the outcome is unknown: look in orders.today";

/** Starts the program against a slow gateway, and resolves when its request has arrived. */
async function asking(
  kind: "write" | "read",
  gateway: SimulatedGateway,
  answerMs: number,
  { nohup = false }: { nohup?: boolean } = {},
) {
  assertEquals((await cli(["login"], { env: envOf(gateway) })).code, 0);
  const operation = kind === "write" ? "orders.place" : "quotes.latest";
  gateway.faults.arm({ kind: "delay", operation, ms: answerMs, when: "answer" });
  const words = [Deno.execPath(), "run", "-A", "--no-check"];
  const [command, ...args] = nohup ? ["nohup", ...words] : words;
  const child = new Deno.Command(command!, {
    args: [...args, new URL("interrupt_child.ts", import.meta.url).pathname, kind],
    env: { HSGATE_GATEWAY_URL: gateway.info.gatewayUrl },
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const reader = child.stderr.pipeThrough(new TextDecoderStream()).getReader();
  let err = "";
  const seen = async (text: string) => {
    while (!err.includes(text)) {
      const { value, done } = await reader.read();
      if (done) throw new Error(`it ended without "${text}": ${err}`);
      err += value;
    }
  };
  for (const end = Date.now() + 60_000; gateway.faults.struck("delay") === 0;) {
    assert(Date.now() < end, "it never asked");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  const ended = async () => {
    for (let each; !(each = await reader.read()).done;) err += each.value;
    const out = await new Response(child.stdout).text();
    return { code: (await child.status).code, out, err };
  };
  return { child, seen, ended };
}

Deno.test("a second Ctrl-C during a write prints a warning and waits for the answer", async () => {
  await using gateway = await simulate();
  const { child, seen, ended } = await asking("write", gateway, 4_000);
  child.kill("SIGINT");
  await seen(SENT);
  child.kill("SIGINT");
  await seen(WAITING);
  const { code, out } = await ended();
  assertEquals([code, out], [0, "answered\n"]);
});

Deno.test("a third Ctrl-C during a write ends immediately with 5, and says where to look", async () => {
  await using gateway = await simulate();
  const { child, seen, ended } = await asking("write", gateway, 50_000);
  child.kill("SIGINT");
  await seen(SENT);
  child.kill("SIGINT");
  await seen(WAITING);
  child.kill("SIGINT");
  await seen(
    "hsgate: ended without the answer to orders.place; it may have happened: look in orders.today",
  );
  const { code, out } = await ended();
  assertEquals([code, out], [5, ""]);
});

Deno.test("a second Ctrl-C without a write in progress ends immediately with 130 and prints nothing", async () => {
  await using gateway = await simulate();
  const { child, ended } = await asking("read", gateway, 50_000);
  child.kill("SIGINT");
  // The system would combine two signals that arrive at the same time.
  await new Promise((resolve) => setTimeout(resolve, 500));
  child.kill("SIGINT");
  assertEquals(await ended(), { code: 130, out: "", err: "" });
});

Deno.test("a hangup during a write, without a terminal, prints a warning and waits for the answer", async () => {
  await using gateway = await simulate();
  const { child, seen, ended } = await asking("write", gateway, 4_000);
  child.kill("SIGHUP");
  await seen(SENT);
  // The system sends a second hangup after the one from the shell.
  child.kill("SIGHUP");
  const { code, out } = await ended();
  assertEquals([code, out], [0, "answered\n"]);
});

Deno.test("a hangup does not stop a program that nohup has started", async () => {
  await using gateway = await simulate();
  const { child, ended } = await asking("write", gateway, 2_000, { nohup: true });
  child.kill("SIGHUP");
  const { code, out, err } = await ended();
  assertEquals({ code, out, err }, { code: 0, out: "answered\n", err: "" });
});
