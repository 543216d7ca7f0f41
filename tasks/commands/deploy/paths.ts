/**
 * Paths and permissions of a deployment.
 *
 * @module
 */
import project from "../../../deno.json" with { type: "json" };

/** The program that runs now. */
export const programPath = (): string =>
  decodeURIComponent(new URL("../../hsgate.ts", import.meta.url).pathname);

/** The flags of `deno run` that the project's own task gives the program, and the configuration beside it. */
export function denoFlags(program: string): string[] {
  const words = project.tasks.hsgate.command.split(" ");
  const flags = words.slice(words.indexOf("run") + 1, words.findIndex((word) => word.endsWith(".ts")));
  // In a folder with a deno.json of its own, that one would be taken.
  return [...flags, "--config", program.replace(/\/[^/]*\/[^/]*$/, "/deno.json")];
}

/** Makes a path absolute and takes `.` and `..` out of it. */
export function absolute(path: string, from: string): string {
  const parts: string[] = [];
  for (const part of (path.startsWith("/") ? path : `${from}/${path}`).split("/")) {
    if (part === "..") parts.pop();
    else if (part !== "" && part !== ".") parts.push(part);
  }
  return `/${parts.join("/")}`;
}

/** The rest of a path within a folder; the path itself when it lies elsewhere. */
export function relativeTo(folder: string, path: string): string {
  return path.startsWith(`${folder}/`) ? path.slice(folder.length + 1) : path;
}

/** How a file in a folder imports the ticking: by a relative path within the project, which may then move. */
export function importPath(folder: string, program: string): string {
  const root = program.replace(/\/[^/]*\/[^/]*$/, "");
  const module = `${root}/tasks/commands/deploy/tick.ts`;
  if (folder !== root && !folder.startsWith(`${root}/`)) return `file://${encodeURI(module)}`;
  const depth = folder === root ? 0 : relativeTo(root, folder).split("/").length;
  return `${depth === 0 ? "./" : "../".repeat(depth)}${relativeTo(root, module)}`;
}
