/**
 * Sends a notice in a process with its own environment. A test cannot change its own environment, because all test
 * files share one.
 *
 * @module
 */
import { compileRecipe } from "../../lib/recipes/mod.ts";
import { stepContext } from "./support.ts";

/** Sends a notice in a new process. Resolves to the error's message, or to an empty text. */
export async function notifyWith(given: object, env: Record<string, string>): Promise<string> {
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-check", "-A", import.meta.filename!, JSON.stringify(given)],
    env,
    stderr: "inherit",
  }).output();
  return new TextDecoder().decode(stdout);
}

if (import.meta.main) {
  const recipe = {
    name: "notice",
    secrets: { hook: { env: "HOOK" } },
    steps: [{ id: "notice", uses: "notify", with: JSON.parse(Deno.args[0]!) }],
  };
  const { steps: [step] } = await compileRecipe(JSON.stringify(recipe), "notice.json");
  const context = stepContext(undefined, { secret: () => Promise.resolve("swordfish") });
  const message = await step!.run(context).then(() => "", ({ message }) => message);
  await Deno.stdout.write(new TextEncoder().encode(message));
}
