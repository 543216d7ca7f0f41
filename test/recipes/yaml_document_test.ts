import { assertEquals } from "@std/assert";
import { temporaryFolder } from "../day_book/simulated.ts";

const root = new URL("../../", import.meta.url);
const script = `import { yaml } from ${JSON.stringify(new URL("lib/std/yaml_document.ts", root).href)};
const lines = new yaml.LineCounter();
const text = "a: [1, 0x1F, no, ~, 2025-08-15, &x b, *x]\\nb: { c: 00700 }\\nb: <<";
const document = yaml.parseDocument(text, { lineCounter: lines, prettyErrors: false, version: "1.2" });
console.log(JSON.stringify({
  isModules: Object.prototype.toString.call(yaml.default) === "[object Module]",
  value: document.toJS(),
  errors: document.errors.map(({ code, pos, message }) => [code, lines.linePos(pos[0]), message]),
}));
`;

const read = {
  value: { a: [1, 31, "no", null, "2025-08-15", "b", "b"], b: "<<" },
  errors: [["DUPLICATE_KEY", { line: 3, col: 1 }, "Map keys must be unique"]],
};

Deno.test("the YAML reader is loaded as ES modules without any permission, and as CommonJS if they are missing", async () => {
  using folder = temporaryFolder();
  const file = `${folder.path}/read.ts`;
  await Deno.writeTextFile(file, script);
  const without = `${folder.path}/deno.json`;
  const { imports } = JSON.parse(await Deno.readTextFile(new URL("deno.json", root)));
  const moved = { yaml: imports.yaml, "yaml/package.json": "./missing/package.json" };
  await Deno.writeTextFile(without, JSON.stringify({ imports: moved, lock: false }));
  const ways = [
    { isModules: true, config: new URL("deno.json", root).pathname, flags: [] },
    // Only CommonJS reads variables.
    { isModules: false, config: without, flags: ["--allow-env=LOG_TOKENS,LOG_STREAM"] },
  ];
  for (const { isModules, config, flags } of ways) {
    const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "--no-check", "--no-prompt", "--config", config, ...flags, file],
    }).output();
    const [out, error] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
    assertEquals(error, "");
    assertEquals(JSON.parse(out!), { isModules, ...read });
  }
});
