import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { type ConfiguredOptions, connectConfigured } from "../../lib/client/configured.ts";
import { InvalidParamsError } from "../../lib/errors.ts";
import { envOf, folder, simulate } from "../cli/support.ts";

Deno.test("connectConfigured() prefers the environment to the file, and passes warnings to onWarning", async () => {
  await using gateway = await simulate();
  const env = envOf(gateway);
  const path = await Deno.makeTempFile();
  const warnings: string[] = [];
  try {
    await Deno.writeTextFile(path, `gatewayUrl: http://127.0.0.1:9\ntradePassword: "000000"\ncolour: red\n`);
    await Deno.chmod(path, 0o644);
    const options = {
      path,
      env: (name: string) => env[name],
      onWarning: (text: string) => warnings.push(text),
    };
    await using client = await connectConfigured(options);
    // The environment has another address and the right password. With the values of the file, the call would fail.
    assertEquals((await client.account.holdings({ market: "hk" })).length > 0, true);
  } finally {
    await Deno.remove(path);
  }
  assertEquals(
    warnings.map((text) => text.replaceAll(path, "FILE").slice(0, 46)),
    [
      '"FILE" has "colour", which is not a setting; t',
      '"FILE" contains a secret and others can read it; r',
    ].map((text) => text.slice(0, 46)),
  );
});

Deno.test("connectConfigured() needs no file, and names a missing setting of the direct transport", async () => {
  const env = (name: string) => name === "HSGATE_TRANSPORT" ? "direct" : undefined;
  const error = await assertRejects(
    () => connectConfigured({ env, path: "no/such.yaml" }),
    InvalidParamsError,
  );
  assertEquals(error.message.includes("HSGATE_MOBILE (or ..._FILE)"), true);
});

Deno.test("connectConfigured() reads only a named file, not one that is in the working folder", async () => {
  await using dir = await folder();
  const path = `${dir.path}/hsgate.yaml`;
  await Deno.writeTextFile(path, "transport: direct\nauthUrl: https://platform.example\n");
  const missing = async (options: Partial<ConfiguredOptions>) =>
    (await assertRejects(() => connectConfigured({ env: () => undefined, ...options }), InvalidParamsError))
      .message;
  assertStringIncludes(await missing({ path }), "HSGATE_MOBILE");
  assertStringIncludes(
    await missing({ env: (name) => name === "HSGATE_CONFIG" ? path : undefined }),
    "HSGATE_MOBILE",
  );
  const none = (name: string) => name === "HSGATE_CONFIG" ? `${dir.path}/none.yaml` : undefined;
  assertStringIncludes(await missing({ env: none }), "a file that exists");
  // The file in the working folder sets the direct transport, and lacks its other settings. The script succeeds, so it
  // did not read the file. It used the gateway transport, which needs no setting. In its own process, because all tests
  // share one working folder.
  const script = `import { connectConfigured } from ${
    JSON.stringify(import.meta.resolve("../../lib/client/configured.ts"))
  };
await (await connectConfigured({ env: () => undefined })).close();`;
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["eval", "--no-check", "--config", new URL("../../deno.json", import.meta.url).pathname, script],
    cwd: dir.path,
  }).output();
  assert(success, new TextDecoder().decode(stderr));
});
