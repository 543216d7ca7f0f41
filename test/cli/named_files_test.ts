import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { Redactor } from "../../lib/redact.ts";
import { loadFile } from "../../lib/recipes/files/load_recipe.ts";
import { filesOfCommand, NamedFileError } from "../../lib/recipes/files/named_files.ts";
import { secretReader } from "../../tasks/commands/run/deps.ts";
import { cli, envOf, folder, simulate, spawned, trustEnv } from "./support.ts";

const SECRET = "the-private-key-of-the-user";

/** A stranger's folder with a recipe, a private file outside it, and a server that accepts everything. */
async function world(
  files: (dir: string, url: string) => Readonly<Record<string, string>>,
  folders: readonly string[] = [],
) {
  const stack = new AsyncDisposableStack();
  const gateway = stack.use(await simulate());
  const above = stack.use(await folder());
  const heard: string[] = [];
  const server = stack.use(
    Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, async (request) => {
      heard.push((await request.json()).text);
      return new Response();
    }),
  );
  const dir = `${await Deno.realPath(above.path)}/book`;
  const key = `${dir.replace(/\/book$/, "")}/key.pem`;
  // Another test may have changed the mask of the process.
  for (const each of ["", "data", ...folders].map((name) => `${dir}/${name}`)) {
    await Deno.mkdir(each, { recursive: true });
    await Deno.chmod(each, 0o755);
  }
  await Deno.writeTextFile(key, SECRET, { mode: 0o600 });
  const write = async (name: string, text: string) => {
    await Deno.writeTextFile(`${dir}/${name}`, text);
    await Deno.chmod(`${dir}/${name}`, name.endsWith(".sh") ? 0o700 : 0o600);
  };
  const texts = files(dir, `http://127.0.0.1:${server.addr.port}/`);
  for (const [name, text] of Object.entries(texts)) await write(name, text);
  const env = { ...envOf(gateway), HSGATE_VOLATILE_STORE: "allow" };
  return {
    dir,
    key,
    heard,
    env,
    write,
    /** Replaces a file of the folder by a link. */
    link: async (to: string, name: string) => {
      await Deno.remove(`${dir}/${name}`).catch(() => {});
      await Deno.symlink(to, `${dir}/${name}`);
    },
    trust: async () => await cli(["trust", `${dir}/r.yaml`, "--yes"], { env, fromDisk: true }),
    run: async () => await cli(["run", `${dir}/r.yaml`, "--out", dir], { env, fromDisk: true }),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

const telling = (source: string) => (dir: string, url: string) => ({
  "r.yaml": `name: r\nsecrets: { x: ${source.replaceAll("DIR", dir)} }\n` +
    `steps: [{ id: tell, uses: notify, with: { webhook: "${url}", text: "\${secret:x}" } }]\n`,
  "token.txt": "token-one\n",
  "get.sh": "#!/bin/sh\necho token-one\n",
});

const step = (permissions: string, body: string) =>
  `import { defineStep } from "hsgate/recipes";
export default defineStep({ effect: "local", permissions: ${permissions}, async run() { ${body} } });\n`;

const stepsOf = (...names: string[]) =>
  `name: r\nsteps:\n${names.map((name) => `  - { id: ${name}, uses: ./${name}.ts }\n`).join("")}`;

Deno.test("a secret's file in the folder may change, but may not become a link to another file", async () => {
  await using w = await world(telling("{ file: DIR/token.txt }"));
  assertEquals((await w.trust()).code, 0);
  await w.run();
  await w.write("token.txt", "token-two\n");
  await w.run();
  assertEquals(w.heard, ["token-one", "token-two"]);
  const tries: [string, string][] = [
    [w.key, `a link leads from it to "${w.key}", which is outside its folder`],
    ["../key.pem", "which is outside its folder"],
    ["get.sh", "was changed after it was trusted"],
    ["missing", "does not exist"],
  ];
  for (const [to, why] of tries) {
    await w.link(to, "token.txt");
    const { code, err } = await w.run();
    assertEquals(code, 2, err);
    assertStringIncludes(err, why);
  }
  await w.link(w.key, "token.txt");
  const again = await w.trust();
  assertEquals(again.code === 0, false);
  assertStringIncludes(again.err, "which is outside its folder");
  assertEquals(w.heard, ["token-one", "token-two"]);
});

Deno.test("a secret's file that is named relative to the working folder may not become a link out of it", async () => {
  await using w = await world((_dir, url) => telling("{ file: ./data/token.txt }")("", url));
  await w.write("data/token.txt", "token-one\n");
  const options = { cwd: w.dir, env: w.env };
  assertEquals((await spawned(["trust", "r.yaml", "--yes"], options)).code, 0);
  const ran = await spawned(["run", "r.yaml"], options);
  assertEquals([ran.code, w.heard], [0, ["token-one"]], ran.err);
  await w.link(w.key, "data/token.txt");
  const { code, err } = await spawned(["run", "r.yaml"], options);
  assertEquals([code, w.heard.length], [2, 1], err);
  assertStringIncludes(err, "which is outside its folder");
});

Deno.test("a secret's file that is created after the trust is used, if it is not a link", async () => {
  await using w = await world(telling("{ file: DIR/data/later.txt }"));
  assertEquals((await w.trust()).code, 0);
  await w.write("data/later.txt", "token-three\n");
  await w.run();
  assertEquals(w.heard, ["token-three"]);
});

Deno.test("a secret that Kubernetes mounts in the folder may rotate: its link leads into another folder of the mount", async () => {
  await using w = await world(telling("{ file: DIR/data/token }"));
  /**
   * Writes a version of the secret as the kubelet does: it creates a new folder, and then makes `..data` lead there.
   */
  const mount = async (version: string, token: string) => {
    await Deno.mkdir(`${w.dir}/data/${version}`);
    await w.write(`data/${version}/token`, `${token}\n`);
    await Deno.symlink(version, `${w.dir}/data/..data_tmp`);
    await Deno.rename(`${w.dir}/data/..data_tmp`, `${w.dir}/data/..data`);
  };
  await mount("..2025_08_15_01", "token-one");
  await Deno.symlink("..data/token", `${w.dir}/data/token`);
  assertEquals((await w.trust()).code, 0);
  await w.run();
  await mount("..2025_08_15_02", "token-two");
  await Deno.remove(`${w.dir}/data/..2025_08_15_01`, { recursive: true });
  const { code, err } = await w.run();
  assertEquals([code, w.heard], [0, ["token-one", "token-two"]], err);
  // A version of the secret is only a file `token` in a folder of the mount whose name begins like `..2025_08_15_02`.
  await w.write("data/..2025_08_15_02/other", "token-three\n");
  await Deno.mkdir(`${w.dir}/data/plain`);
  await w.write("data/plain/token", "token-three\n");
  for (const to of ["..data/other", "plain/token", "../token.txt"]) {
    await w.link(to, "data/token");
    const { code, err } = await w.run();
    assertEquals([code, w.heard.length], [2, 2], err);
    assertStringIncludes(err, "was changed after it was trusted");
  }
  await w.link("..data/token", "data/token");
  await Deno.remove(`${w.dir}/data/..data`);
  await Deno.symlink("../..", `${w.dir}/data/..data`);
  await Deno.rename(w.key, w.key.replace("key.pem", "token"));
  assertStringIncludes((await w.run()).err, "which is outside its folder");
  assertEquals(w.heard.length, 2);
});

for (
  const command of [
    "[DIR/get.sh]",
    "[sh, DIR/get.sh]",
    '[sh, "-c", ". DIR/get.sh; true"]',
    "[env, --split-string=DIR/get.sh]",
    '[env, "-SDIR/get.sh"]',
    '[sh, "-c", "DIR/g?t.sh"]',
    '[sh, "-c", "DIR/g*[t].s*"]',
    `[sh, "-c", "DIR/ge\\\\t.'s'h"]`,
    '[sh, "-c", "X=get; DIR/$X.sh"]',
  ]
) {
  Deno.test(`a program of the folder that prints a secret runs only while it is unchanged since it was trusted: ${command}`, async () => {
    await using w = await world(telling(`{ command: ${command} }`));
    const trusted = await inFolder(w, "trust", "r.yaml", "--yes");
    assertEquals(trusted.code, 0, trusted.err);
    const ran = await inFolder(w, "run", "r.yaml");
    assertEquals([ran.code, w.heard], [0, ["token-one"]], ran.err);
    await w.write("get.sh", `#!/bin/sh\ncat ${w.key}\n`);
    const edited = await inFolder(w, "run", "r.yaml");
    assertEquals([edited.code, w.heard.length], [2, 1], edited.err);
    assertStringIncludes(edited.err, "was changed after it was trusted");
    const list = await cli(["trust", "--list"], { fromDisk: true });
    assertStringIncludes(list.out.split("\n").find((line) => line.includes(w.dir))!, "changed");
    await Deno.remove(`${w.dir}/get.sh`);
    await w.link(w.key, "get.sh");
    const linked = await inFolder(w, "run", "r.yaml");
    assertEquals([linked.code, w.heard.length], [2, 1], linked.err);
    assertStringIncludes(linked.err, "outside its folder");
  });
}

/** Runs a command of hsgate in the recipe's folder, because a shell resolves relative names there. */
const inFolder = async (w: Awaited<ReturnType<typeof world>>, ...words: string[]) =>
  await spawned(words, { cwd: w.dir, env: w.env });

Deno.test("a changed program of the folder in which the recipe was trusted does not run from another folder either", async () => {
  await using w = await world((dir, url) => {
    const { "get.sh": script, "r.yaml": recipe } = telling("{ command: [DIR/bin/get.sh] }")(dir, url);
    return { "bin/get.sh": script, "recipes/r.yaml": recipe };
  }, ["bin", "recipes"]);
  const recipe = `${w.dir}/recipes/r.yaml`;
  const trusted = await inFolder(w, "trust", recipe, "--yes");
  assertEquals(trusted.code, 0, trusted.err);
  await using other = await folder();
  const run = async () => await spawned(["run", recipe], { cwd: other.path, env: w.env });
  const ran = await run();
  assertEquals([ran.code, w.heard], [0, ["token-one"]], ran.err);
  const env = (name: string) => trustEnv[name as keyof typeof trustEnv];
  const read = secretReader(
    [await loadFile(recipe, {})],
    {
      env,
      readFile: async (path) => ({ text: await Deno.readTextFile(path), mode: 0o600 }),
      signal: new AbortController().signal,
    },
    new Redactor(),
  );
  assertEquals(await read("x"), "token-one");
  await w.write("bin/get.sh", `#!/bin/sh\ncat ${w.key}\n`);
  const { code, err } = await run();
  assertEquals([code, w.heard.length], [2, 1], err);
  assertStringIncludes(err, `its file "${w.dir}/bin/get.sh" was changed after it was trusted`);
  await assertRejects(() => read("x"), NamedFileError, "was changed after its recipe was trusted");
});

for (
  const [command, edited = "f.sh"] of [
    ['[sh, -c, "$PWD/f.sh"]'],
    ['[sh, -c, "${PWD}/f.sh"]'],
    ['[sh, -c, "sh `pwd`/f.sh"]'],
    ['[sh, -c, "$(pwd)/f.sh"]'],
    ['[bash, -c, "~+/f.sh"]'],
    ['[sh, -c, "cd sub; ./g.sh"]', "sub/g.sh"],
    ["[env, -C, sub, ./g.sh]", "sub/g.sh"],
    ['[sh, -c, "cd DIR; sub/g.sh"]', "sub/g.sh"],
    ["[bash, -c, \"$'\\\\x2e/f.sh'\"]"],
    ['[sh, -c, "./[[:lower:]].sh"]'],
    ['[bash, -O, extglob, -c, "./@(f).sh"]'],
    ["[python3, -m, mod]", "mod.py"],
    ["[python3, sub]", "sub/__main__.py"],
    ["[make, --silent, token]", "Makefile"],
    ["[make, --no-print-directory, --silent, --directory=sub, token]", "sub/Makefile"],
  ] as [string, string?][]
) {
  Deno.test(`trust covers every file of the folder if a command can run any of them: ${command}`, async () => {
    const script = "#!/bin/sh\necho token-one\n";
    await using w = await world((dir, url) => ({
      ...telling(`{ command: ${command} }`)(dir, url),
      "f.sh": script,
    }));
    await Deno.remove(`${w.dir}/get.sh`);
    await Deno.mkdir(`${w.dir}/sub`);
    await w.write("sub/g.sh", script);
    for (const name of ["mod.py", "sub/__main__.py"]) await w.write(name, "print('token-one')\n");
    for (const name of ["Makefile", "sub/Makefile"]) await w.write(name, "token:\n\t@echo token-one\n");
    const trusted = await inFolder(w, "trust", "r.yaml", "--yes");
    assertEquals(trusted.code, 0, trusted.err);
    assertStringIncludes(trusted.out + trusted.err, "it can run any file of the folder");
    // What hsgate writes may change.
    await Deno.mkdir(`${w.dir}/out`);
    for (const name of ["out/day.csv", "hsgate.db-wal"]) await w.write(name, "written later");
    const ran = await inFolder(w, "run", "r.yaml");
    assertEquals([ran.code, w.heard], [0, ["token-one"]], ran.err);
    await w.write(edited, edited.endsWith(".py") ? "print('hostile')\n" : "#!/bin/sh\necho hostile\n");
    const { code, err } = await inFolder(w, "run", "r.yaml");
    assertEquals([code, w.heard.length], [2, 1], err);
    assertStringIncludes(err, `${edited}" was changed after it was trusted`);
  });
}

Deno.test("a command that can run any file is rejected in a folder with too many files, and a link there is recorded", async () => {
  await using dir = await folder();
  const from = await Deno.realPath(dir.path);
  const place = { from, folders: [from] };
  const command = ["sh", "-c", "$PWD/f.sh"];
  await Deno.writeTextFile(`${from}/f.sh`, "echo 1");
  const [plain] = await filesOfCommand(command, place);
  await Deno.rename(`${from}/f.sh`, `${from}/g.sh`);
  await Deno.symlink("g.sh", `${from}/f.sh`);
  const linked = await filesOfCommand(command, place);
  assertEquals(linked.map(({ path }) => path), [`${from}/g.sh`, `${from}/g.sh`]);
  assert(linked.every(({ path }) => path !== plain!.path));
  // A command that names a program starts no other file.
  for (const program of ["vault", "/usr/bin/vault", `${from}/../own/get-token`, "/home/me/bin/get-token"]) {
    assertEquals(await filesOfCommand([program, "read", "-field=token", "secret/hs"], place), [], program);
  }
  // A program that reads its settings in the working folder, or in a folder that an option names, may run any file.
  await Deno.mkdir(`${from}/tools`);
  for (
    const words of [
      ["npm", "--prefix", "tools", "run", "token"],
      ["npm", "run", "--silent", "token"],
      ["/usr/bin/pnpm", "--dir=tools", "token"],
      ["git", "token"],
      // These may read a file such as ".pylintrc" or ".Rprofile", which can contain code.
      ["pylint", "--version"],
      ["/usr/bin/gdb", "--batch"],
      ["Rscript", "/home/me/token.R"],
      ["python3", "/home/me/token.py"],
      ["grep", "-R", "token"],
      ["timeout", "5", "vault", "token"],
      ["get-token", "--home", from],
      ["get-token", "-rtools"],
      ["get-token", ".."],
      // These programs have languages that can start programs, and can load a file by its name without the ending.
      ["sed", "1emake", "/etc/hostname"],
      ["gawk", "-f", "token"],
      ["jq", "-f", "token.jq"],
      // An interpreter in a folder of the user is still an interpreter.
      ["/home/me/.pyenv/shims/python3", "/home/me/token.py"],
      ["/home/me/.nvm/bin/npm", "run"],
      // The named file may be a configuration that starts another program.
      ["ssh", "-Fg.sh", "host"],
      ["curl", "-Kg.sh"],
      ["openssl", "version", "-config=g.sh"],
    ]
  ) {
    const files = new Set((await filesOfCommand(words, place)).map(({ name }) => name));
    assertEquals([...files].filter((name) => name.startsWith("/")).length, 2, words.join(" "));
  }
  // Another spelling of a path, or a link, does not hide an installed program or a folder.
  await using other = await folder();
  const links = await Deno.realPath(other.path);
  await Deno.symlink(from, `${links}/near`);
  await Deno.symlink("/usr/bin/git", `${links}/get-token`);
  await Deno.symlink("/usr/bin/python3", `${links}/cat`);
  const hidden = [
    [`${links}/get-token`, "status"],
    [`${links}/cat`, "/home/me/token.py"],
    ["/lib/git-core/git-status"],
    ["/etc/alternatives/pager"],
    ["/run/current-system/sw/bin/gdb"],
    ["/gnu/store/profile/bin/gdb"],
    ["vault", `${links}/near`],
    ["ssh", "-F", `${links}/near/g.sh`, "host"],
    ["curl", `-K${links}/near/g.sh`],
  ];
  if (Deno.build.os === "linux") {
    hidden.push(
      ["/proc/self/root/usr/bin/git"],
      ["/proc/self/cwd/get-token"],
      ["ssh", "-F", "/proc/self/cwd/g.sh", "host"],
      ["ssh", "-F/proc/1/cwd/conf", "host"],
      ["curl", "-K/usr/../proc/self/cwd/conf"],
      ["curl", "--config=/dev/fd/../cwd/conf"],
      ["cat", "/proc/self/cwd"],
      ["cat", `/proc/self/root${from}`],
      ["cat", `/proc/self/root${links}/near`],
    );
  }
  for (const words of hidden) {
    const files = new Set((await filesOfCommand(words, place)).map(({ name }) => name));
    assertEquals([...files].filter((name) => name.startsWith(`${from}/`)).length, 2, words.join(" "));
  }
  const covered = [
    ["cat", "/etc/hostname"],
    ["curl", "https://a.example/token"],
    // Only a whole path, and not a part of one, names a folder of processes.
    ["cat", "/srv/proc/token"],
    ["curl", "https://a.example/v1/proc/token"],
    ["pass", "show", "broker/proc/token"],
  ];
  for (const words of covered) {
    assertEquals(await filesOfCommand(words, place), [], words.join(" "));
  }
  for (let at = 0; at < 5000; at++) Deno.writeTextFileSync(`${from}/${at}`, "");
  await assertRejects(() => filesOfCommand(command, place), NamedFileError, "name the program by its path");
});

Deno.test("a program that others may write to, or that is created after the trust, does not run", async () => {
  await using w = await world(telling("{ command: [sh, DIR/later.sh] }"));
  assertEquals((await w.trust()).code, 0);
  await w.write("later.sh", `cat ${w.key}\n`);
  const { code, err } = await w.run();
  assertEquals([code, w.heard], [2, []], err);
  assertStringIncludes(err, "was changed after it was trusted");
  await Deno.chmod(`${w.dir}/later.sh`, 0o722);
  assertStringIncludes((await w.trust()).err, "others may write to it");
  assertStringIncludes((await w.run()).err, "others may write to it");
});

Deno.test("before each reading of a secret, its program or its file is compared again with the trusted version", async () => {
  for (const source of ["{ command: [DIR/get.sh] }", "{ file: DIR/token.txt }"]) {
    await using w = await world(telling(source));
    assertEquals((await w.trust()).code, 0);
    const recipe = await loadFile(`${w.dir}/r.yaml`, {});
    const env = (name: string) => trustEnv[name as keyof typeof trustEnv];
    const readFile = async (path: string) => ({ text: await Deno.readTextFile(path), mode: 0o600 });
    const { signal } = new AbortController();
    const read = secretReader([recipe], { env, readFile, signal }, new Redactor());
    assertEquals(await read("x"), "token-one");
    if (source.includes("get.sh")) await w.write("get.sh", `#!/bin/sh\ncat ${w.key}\n`);
    else await w.link(w.key, "token.txt");
    await assertRejects(() => read("x"), NamedFileError, `Cannot trust "${w.dir}/`);
  }
});

Deno.test("an edited program does not run in a recipe that runs another recipe, or in a notice", async () => {
  const secret = "secrets: { x: { command: [DIR/get.sh] } }\n";
  const texts: Record<string, (url: string) => Record<string, string>> = {
    nested: (url) => ({
      "r.yaml": "name: r\nsteps: [{ id: in, uses: run, with: { recipe: inner } }]\n",
      "inner.yaml": `name: inner\n${secret}` +
        `steps: [{ id: tell, uses: notify, with: { webhook: "${url}", text: "\${secret:x}" } }]\n`,
    }),
    notice: (url) => ({
      "r.yaml": `name: r\n${secret}steps: [{ id: a, uses: orders.today, with: { market: hk } }]\n` +
        `notify: [{ on: always, with: { webhook: "${url}", text: "\${secret:x}" } }]\n`,
    }),
  };
  for (const [what, textsOf] of Object.entries(texts)) {
    await using w = await world((dir, url) =>
      Object.fromEntries(
        Object.entries({ ...textsOf(url), "get.sh": "#!/bin/sh\necho token-one\n" })
          .map(([name, text]) => [name, text.replaceAll("DIR", dir)]),
      )
    );
    assertEquals((await w.trust()).code, 0);
    const store = ["--store", `${w.dir}/l.db`];
    const run = async () =>
      await cli(["run", `${w.dir}/r.yaml`, ...store, "--manual", "--out", w.dir], {
        env: w.env,
        fromDisk: true,
      });
    const ran = await run();
    assertEquals([ran.code, w.heard], [0, ["token-one"]], `${what}: ${ran.err}`);
    await w.write("get.sh", `#!/bin/sh\ncat ${w.key}\n`);
    const { code, err } = await run();
    assertEquals([code, w.heard.length], [2, 1], `${what}: ${err}`);
    assertStringIncludes(err, "was changed after it was trusted");
  }
});

Deno.test("a program of the folder that a step runs is compared with the trusted one, also right before the step starts", async () => {
  const text = "#!/bin/sh\ntouch trusted\n";
  await using w = await world(() => ({
    "r.yaml": stepsOf("tool"),
    "tool.ts": step(
      "{ run: ['./tool.sh'] }",
      "await new Deno.Command('./tool.sh').output(); return { ok: true };",
    ),
    "edit.ts": step(
      "{ write: ['./tool.sh'] }",
      "await Deno.writeTextFile('tool.sh', '#!/bin/sh\\ntouch hostile\\n'); return { ok: true };",
    ),
    "tool.sh": text,
  }));
  const has = (name: string) => Deno.stat(`${w.dir}/${name}`).then(() => true, () => false);
  assertEquals((await w.trust()).code, 0);
  const ran = await w.run();
  assertEquals([ran.code, await has("trusted")], [0, true], ran.err);
  await w.write("tool.sh", "#!/bin/sh\ntouch hostile\n");
  const edited = await w.run();
  assertEquals([edited.code, await has("hostile")], [2, false], edited.err);
  assertStringIncludes(edited.err, "was changed after it was trusted");
  await w.write("tool.sh", text);
  await w.write("r.yaml", stepsOf("edit", "tool"));
  assertEquals((await w.trust()).code, 0);
  const { code, err } = await w.run();
  assertEquals([code, await has("hostile")], [1, false], err);
  assertStringIncludes(err, 'its program "./tool.sh" was changed after it was checked');
});

Deno.test("a step does not start while a link leads out of a folder that it may read or write", async () => {
  const read = "return { text: await Deno.readTextFile('data/l') };";
  const write = "await Deno.writeTextFile('data/l', 'overwritten'); return { ok: true };";
  for (const [permission, body] of [["{ read: ['./data'] }", read], ["{ write: ['./data'] }", write]]) {
    await using w = await world(() => ({ "r.yaml": stepsOf("use"), "use.ts": step(permission!, body!) }));
    await w.write("data/l", "mine");
    assertEquals((await w.trust()).code, 0);
    assertEquals((await w.run()).code, 0);
    for (const [to, name] of [[w.key, "data/l"], ["../../key.pem", "data/l"]] as const) {
      await w.link(to, name);
      const { code, out, err } = await w.run();
      assertEquals([code, out.includes(SECRET)], [1, false], err);
      assertStringIncludes(err, `"${w.dir}/data/l": it is a link in a folder that a step may use`);
      assertStringIncludes(err, `leads out of that folder, to "${w.key}"; remove the link`);
    }
    assertStringIncludes((await w.trust()).err, "leads out of that folder");
    assertEquals(await Deno.readTextFile(w.key), SECRET);
    await Deno.remove(`${w.dir}/data`, { recursive: true });
    await Deno.symlink("..", `${w.dir}/data`);
    assertStringIncludes((await w.run()).err, "which is outside its folder");
  }
});

Deno.test("a link inside a granted folder is fine, unless the step could move it so that it leads out", async () => {
  await using w = await world(() => ({
    "r.yaml": stepsOf("use"),
    "use.ts": step("{ read: ['./data'] }", "return { text: await Deno.readTextFile('data/a/b/l') };"),
    "move.ts": step(
      "{ read: ['./data'], write: ['./data'] }",
      "await Deno.rename('data/a/b/l', 'data/l'); return { text: await Deno.readTextFile('data/l') };",
    ),
  }));
  await Deno.mkdir(`${w.dir}/data/a/b`, { recursive: true });
  for (const each of ["a", "a/b"]) await Deno.chmod(`${w.dir}/data/${each}`, 0o755);
  await w.write("data/a/key.pem", "mine");
  await w.link("../key.pem", "data/a/b/l"); // from data/ it would lead to the recipe's folder
  await w.write("key.pem", SECRET);
  assertEquals((await w.trust()).code, 0);
  const ran = await w.run();
  assertEquals([ran.code, ran.out.includes("mine")], [0, true], ran.err);
  await Deno.symlink(w.dir, `${w.dir}/../way`);
  await w.link(`${w.dir}/../way/data/a/key.pem`, "data/a/b/l"); // others could replace the link `way`
  assertStringIncludes((await w.run()).err, "leads out of that folder");
  await w.link("../key.pem", "data/a/b/l");
  await w.write("r.yaml", stepsOf("move"));
  assertStringIncludes((await w.trust()).err, 'move it so that "../key.pem" leads out');
});

Deno.test("a step with permission for a folder cannot make a link, in any way", async () => {
  const tries = [
    "Deno.symlinkSync(to, 'data/l1')",
    "Deno.symlinkSync('x', 'data/l2')",
    "fs.symlinkSync(to, 'data/l3')",
    "Deno.linkSync(to, 'data/l4')",
    "fs.linkSync(to, 'data/l5')",
    "fs.cpSync(to, 'data/l6')",
  ];
  await using w = await world((dir) => ({
    "r.yaml": stepsOf("make"),
    "make.ts": `import * as fs from "node:fs";\n${
      step(
        "{ read: ['./data'], write: ['./data'] }",
        `const to = "${dir}/../key.pem"; const made = [];
         ${tries.map((text) => `try { ${text}; made.push(${JSON.stringify(text)}); } catch {}`).join("\n")}
         return { made };`,
      )
    }`,
  }));
  assertEquals((await w.trust()).code, 0);
  const { code, out, err } = await w.run();
  assertEquals(code, 0, err);
  assertEquals([...Deno.readDirSync(`${w.dir}/data`)], [], out);
});

Deno.test("trust covers a file that an argument names after an option, after a character such as @, or by a shell pattern", async () => {
  await using dir = await folder();
  const from = await Deno.realPath(dir.path);
  await Deno.mkdir(`${from}/data`);
  for (const name of ["s.awk", "my file.awk", "data/one.sh"]) {
    await Deno.writeTextFile(`${from}/${name}`, name);
  }
  const named = async (...args: string[]) => {
    const files = await filesOfCommand(["cat", ...args], { from, folders: [from] });
    return [...new Set(files.map(({ path }) => path.slice(from.length + 1)))];
  };
  for (
    const arg of [
      ...["./s.awk", "-f./s.awk", "-fs.awk", "-nf./s.awk", "--file=s.awk", "@./s.awk", "@s.awk", "+./s.awk"],
      ...[
        "data=@s.awk",
        "%s.awk",
        `-f${from}/s.awk`,
        "-f./s\\.awk",
        "-f's.awk'",
        "cat ./s.*",
        "./?.awk",
        "s.{awk,sh}",
      ],
      ...["$HOME/../s.awk".replace("$HOME", "data"), "./$X.awk", "./[a-z].awk", `${from}/*wk`],
    ]
  ) assert((await named(arg)).includes("s.awk"), arg);
  assertEquals(await named("-f./my file.awk"), ["my file.awk"]);
  assertEquals(await named("*/*.sh"), ["data/one.sh"]);
  assertEquals(await named("1 + 2", "*", "other", "-x"), []);
  const started = performance.now();
  await named("-".repeat(250_000), `${"*a".repeat(2000)}`, "/*".repeat(3));
  assert(performance.now() - started < 60_000, "long arguments are searched quickly");
});
