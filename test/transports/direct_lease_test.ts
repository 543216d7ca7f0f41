/** Tests the lease of the trade connection: only one program of a machine has it, and others see which one. */
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { TransportError } from "../../lib/errors.ts";
import {
  defaultLeaseFolder,
  leaseHolder,
  leaseHolders,
  leaseName,
  takeLease,
} from "../../lib/transports/direct/lease.ts";
import { connectDirect, startQuietPlatform } from "../support/direct_client.ts";

const now = Date.parse("2025-08-15T01:30:05Z");

async function folder(): Promise<{ path: string } & AsyncDisposable> {
  const path = await Deno.makeTempDir({ prefix: "hsgate-lease-" });
  return { path, [Symbol.asyncDispose]: () => Deno.remove(path, { recursive: true }) };
}

Deno.test("takeLease() rejects a second lease and names the holder of the first, until the first is released", async () => {
  await using temp = await folder();
  const options = { folder: temp.path, name: "trade-1", program: "hsgate watch", now };
  {
    await using lease = await takeLease(options);
    assertEquals(lease.holder, { pid: Deno.pid, program: "hsgate watch", since: "2025-08-15T01:30:05.000Z" });
    const error = await assertRejects(() => takeLease(options), TransportError);
    assertEquals(
      error.message,
      'Cannot open the trade connection: this process ("hsgate watch") has used it since 2025-08-15T01:30:05.000Z; an account has only one trade connection, so close the connection of that program first',
    );
    assertEquals(error.code, "lease-held");
    assertEquals(await leaseHolder(temp.path, "trade-1"), lease.holder);
    await using _other = await takeLease({ ...options, name: "trade-2" }); // another account is free
    assertEquals([...(await leaseHolders(temp.path)).keys()].sort(), ["trade-1", "trade-2"]);
  }
  assertEquals(await leaseHolder(temp.path, "trade-1"), undefined);
  await using _again = await takeLease(options);
});

const makePipe = async (path: string) =>
  assert((await new Deno.Command("mkfifo", { args: [path] }).output()).success);

Deno.test({
  name:
    "takeLease() and leaseHolder() reject a lock that is a link or a named pipe, and do not change a link's target",
  ignore: Deno.build.os === "windows",
  fn: async () => {
    await using temp = await folder();
    const lock = `${temp.path}/trade-1.lock`;
    const options = { folder: temp.path, name: "trade-1", program: "hsgate watch", now };
    await makePipe(lock);
    for (
      const use of [
        () => takeLease(options),
        () => leaseHolder(temp.path, "trade-1"),
        () => leaseHolders(temp.path),
      ]
    ) {
      await assertRejects(use, TypeError, `Cannot lock "${lock}": it is not a regular file; remove it`);
    }
    await Deno.remove(lock);
    await Deno.symlink(`${temp.path}/elsewhere`, lock);
    for (const use of [() => takeLease(options), () => leaseHolder(temp.path, "trade-1")]) {
      await assertRejects(use, TypeError, `Cannot lock "${lock}": it is a symbolic link; remove the link`);
    }
    assertEquals([...Deno.readDirSync(temp.path)].map(({ name }) => name), ["trade-1.lock"]);
  },
});

Deno.test({
  name:
    "leaseHolder() does not use a description in a pipe, a link, a huge file, or a file that others may change",
  ignore: Deno.build.os === "windows",
  fn: async () => {
    await using temp = await folder();
    const path = `${temp.path}/trade-1.json`;
    await using lease = await takeLease({ folder: temp.path, name: "trade-1", program: "hsgate watch", now });
    const unknown = { pid: 0, program: "unknown", since: "" };
    const text = JSON.stringify(lease.holder);
    const others: (() => Promise<unknown>)[] = [
      () => makePipe(path),
      async () => {
        await Deno.writeTextFile(`${temp.path}/other`, text);
        await Deno.symlink(`${temp.path}/other`, path);
      },
      async () => {
        await Deno.writeTextFile(path, text);
        await Deno.truncate(path, 1024 ** 3);
      },
      async () => {
        await Deno.writeTextFile(path, text);
        await Deno.chmod(path, 0o666);
      },
      () => Deno.writeTextFile(path, "{"),
    ];
    for (const make of others) {
      await Deno.remove(path);
      await make();
      assertEquals(await leaseHolder(temp.path, "trade-1"), unknown);
    }
    // A file of this user in a folder where others could replace it.
    await Deno.remove(path);
    await Deno.writeTextFile(path, text, { mode: 0o600 });
    await Deno.chmod(temp.path, 0o777);
    assertEquals(await leaseHolder(temp.path, "trade-1"), unknown);
    await Deno.chmod(temp.path, 0o700);
    // Control: a regular file names the holder.
    await Deno.remove(path);
    await Deno.writeTextFile(path, text, { mode: 0o600 });
    assertEquals(await leaseHolder(temp.path, "trade-1"), lease.holder);
  },
});

Deno.test("takeLease() takes over from a process that was killed", async () => {
  await using temp = await folder();
  const script = `${temp.path}/holder.ts`;
  const lease = new URL("../../lib/transports/direct/lease.ts", import.meta.url).href;
  await Deno.writeTextFile(
    script,
    `import { takeLease } from ${JSON.stringify(lease)};
await takeLease({ folder: ${JSON.stringify(temp.path)}, name: "trade-1", program: "victim", now: 0 });
console.log("held");
setInterval(() => {}, 1000);`,
  );
  const config = new URL("../../deno.json", import.meta.url).pathname;
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-check", "-A", "--config", config, script],
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const reader = child.stdout.getReader();
  await reader.read();
  const options = { folder: temp.path, name: "trade-1", program: "heir", now };
  const error = await assertRejects(() => takeLease(options), TransportError);
  assert(error.message.includes(`process ${child.pid} ("victim")`), error.message);
  child.kill("SIGKILL");
  await child.status;
  await reader.cancel();
  // The description of the killed process still exists, but is ignored.
  assertEquals(JSON.parse(await Deno.readTextFile(`${temp.path}/trade-1.json`)).program, "victim");
  assertEquals(await leaseHolder(temp.path, "trade-1"), undefined);
  await using heir = await takeLease(options);
  assertEquals(heir.holder.program, "heir");
});

Deno.test("leaseHolder() works while leases are acquired and released", async () => {
  await using temp = await folder();
  const options = { folder: temp.path, name: "trade-1", program: "hsgate", now };
  let isDone = false;
  const asking = (async () => {
    while (!isDone) await leaseHolder(temp.path, "trade-1");
  })();
  for (let round = 0; round < 50; round++) await (await takeLease(options))[Symbol.asyncDispose]();
  isDone = true;
  await asking;
});

Deno.test("defaultLeaseFolder() uses XDG_STATE_HOME, or otherwise the home folder", () => {
  const env = (values: Record<string, string>) => (name: string) => values[name];
  assertEquals(defaultLeaseFolder(env({ XDG_STATE_HOME: "/state", HOME: "/home/me" })), "/state/hsgate");
  assertEquals(defaultLeaseFolder(env({ HOME: "/home/me" })), "/home/me/.local/state/hsgate");
  assertEquals(defaultLeaseFolder(env({ XDG_STATE_HOME: "x", HOME: "/me" })), "/me/.local/state/hsgate");
  assertThrows(() => defaultLeaseFolder(env({ HOME: "." })), TypeError, "Cannot find a folder");
  assertThrows(() => defaultLeaseFolder(env({})), TypeError, "option leaseFolder");
});

Deno.test("leaseName() differs between accounts and does not reveal the key", async () => {
  const [one, other] = [await leaseName("MIGf-one"), await leaseName("MIGf-other")];
  assert(/^trade-[0-9a-f]{12}$/.test(one) && one !== other);
});

Deno.test("a second client of the account is rejected before it can end the connection of the first", async () => {
  await using temp = await folder();
  await using platform = await startQuietPlatform();
  const shared = { leaseFolder: temp.path };
  {
    await using first = await connectDirect(platform.info, { ...shared, program: "the bot" });
    await first.account.funds({ market: "hk" });
    await using second = await connectDirect(platform.info, shared, { retry: { attempts: 1 } });
    const error = await assertRejects(() => second.account.funds({ market: "hk" }), TransportError);
    assert(error.message.includes('this process ("the bot") has used it since'), error.message);
    assertEquals(error.code, "lease-held");
    assertEquals(platform.state().tradeConnections, 1);
    await first.account.funds({ market: "hk" }); // its token is still valid
  }
  await using third = await connectDirect(platform.info, shared);
  await third.account.funds({ market: "hk" });
  // No file in the folder identifies the account.
  for await (const { name } of Deno.readDir(temp.path)) {
    const text = await Deno.readTextFile(`${temp.path}/${name}`);
    assert(!`${name} ${text}`.includes(platform.info.mobile));
  }
});
