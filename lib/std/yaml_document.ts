/**
 * Loads the package `yaml`, which reads YAML with the place of each value. (`std/yaml` reads the values only.)
 *
 * For Deno the package resolves to CommonJS, which starts Node's module loader. That takes longer than an empty script.
 * The package also contains the same code as ES modules, but names them for browsers only, so they are loaded by their
 * path. If they are missing, CommonJS is loaded.
 *
 * @module
 */
import type * as Yaml from "yaml";

/** The package's functions. */
export const yaml: Pick<
  typeof Yaml,
  "isAlias" | "isCollection" | "isMap" | "isPair" | "isScalar" | "LineCounter" | "parseDocument" | "visit"
> = await load();

async function load(): Promise<typeof Yaml> {
  try {
    return await import(new URL("browser/index.js", import.meta.resolve("yaml/package.json")).href);
  } catch {
    return await import("yaml");
  }
}
