/**
 * Computes the paths and permissions of a deployment.
 *
 * @module
 */
import project from "../../../deno.json" with { type: "json" };

/** Returns the path of `tasks/hsgate.ts` in this installation. */
export const programPath = (): string =>
  decodeURIComponent(new URL("../../hsgate.ts", import.meta.url).pathname);

/** Returns the `deno run` flags of the project's task `hsgate`, and `--config` with the project's configuration. */
export function denoFlags(program: string): string[] {
  const words = project.tasks.hsgate.command.split(" ");
  const flags = words.slice(words.indexOf("run") + 1, words.findIndex((word) => word.endsWith(".ts")));
  // Without --config, Deno would use a deno.json of the current folder.
  return [...flags, "--config", program.replace(/\/[^/]*\/[^/]*$/, "/deno.json")];
}

/** Returns an absolute path without `.` and `..`. */
export function absolute(path: string, from: string): string {
  const parts: string[] = [];
  for (const part of (path.startsWith("/") ? path : `${from}/${path}`).split("/")) {
    if (part === "..") parts.pop();
    else if (part !== "" && part !== ".") parts.push(part);
  }
  return `/${parts.join("/")}`;
}

/** Returns a path relative to a folder, or the path itself if it is outside the folder. */
export function relativeTo(folder: string, path: string): string {
  return path.startsWith(`${folder}/`) ? path.slice(folder.length + 1) : path;
}

/**
 * Returns the import specifier of `tick.ts` for a file in a folder. Inside the project it is a relative path, so that
 * the project can be moved. Elsewhere it is a `file:` URL.
 */
export function importPath(folder: string, program: string): string {
  const root = program.replace(/\/[^/]*\/[^/]*$/, "");
  const module = `${root}/tasks/commands/deploy/tick.ts`;
  if (folder !== root && !folder.startsWith(`${root}/`)) return `file://${encodeURI(module)}`;
  const depth = folder === root ? 0 : relativeTo(root, folder).split("/").length;
  return `${depth === 0 ? "./" : "../".repeat(depth)}${relativeTo(root, module)}`;
}
