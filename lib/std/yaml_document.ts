/**
 * Loads the package `yaml`, which reads YAML with the place of each value. (`std/yaml` reads the values only.)
 *
 * For Deno the package resolves to CommonJS, which starts Node's module loader. That takes longer than running an empty
 * script. The package also contains the same code as ES modules, but offers them only to browsers. So this file loads
 * the ES modules by their path, or CommonJS if they are missing.
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
