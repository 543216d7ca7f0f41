/** Finds programs of the machine that some tests need. */

/** Starts a program with `args`. Resolves to whether it exists; its output and exit code do not matter. */
export async function hasProgram(name: string, args: readonly string[] = ["--version"]): Promise<boolean> {
  try {
    await new Deno.Command(name, { args: [...args], stdin: "null", stdout: "null", stderr: "null" }).output();
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
