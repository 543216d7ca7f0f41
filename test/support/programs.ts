/** Finds programs of the machine that some tests need. */

/** Returns whether a program can be started. It is asked with `args`, and what it prints does not count. */
export async function hasProgram(name: string, args: readonly string[] = ["--version"]): Promise<boolean> {
  try {
    await new Deno.Command(name, { args: [...args], stdin: "null", stdout: "null", stderr: "null" }).output();
    return true;
  } catch (error) {
    // A program that is missing is told by a throw, not by a rejected promise.
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
