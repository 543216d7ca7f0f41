/**
 * What the commands that look back say of edited recipes that wait for their trust.
 *
 * @module
 */
import { servedFiles } from "../../../lib/runner/queries/schedules.ts";
import type { Store } from "../../../lib/store/store.ts";
import { BrokerError } from "../../../lib/errors.ts";
import { TrustError } from "../../../lib/runner/run/trust_file.ts";
import type { Host } from "../../terminal/host.ts";
import { plain } from "../../terminal/print.ts";
import { shellHint } from "../../../lib/shell_words.ts";

/** Warns of each recipe of the store whose file was edited and is not trusted as it is. */
export async function tellUntrusted(store: Store, host: Host): Promise<void> {
  const files = await servedFiles(store);
  if (files.length === 0) return;
  const { Trust } = await import("../../../lib/runner/run/trust.ts"); // compiles, which lists need seldom
  try {
    const trust = Trust.of(host.env);
    const records = await trust.records();
    for (const file of files) {
      const path = await Deno.realPath(file).catch(() => undefined);
      if (path === undefined || !records.has(path) || await trust.isUnchanged(path)) continue;
      const { loadRecipes } = await import("../shared/recipe_files.ts");
      const { untrusted } = await loadRecipes([file], { host: { env: host.env, note() {} }, now: host.now });
      if (!untrusted.has(file)) continue;
      // One that cannot be compiled any more runs nowhere either.
      const kept = await trust.trustedVersion(path, { now: host.now }).catch((error) => {
        if (!(error instanceof BrokerError)) throw error;
      });
      const what = kept === undefined
        ? "the trusted version cannot be loaded, so timers and a scheduler that starts refuse the recipe"
        : "schedulers and timers run the version that was trusted";
      host.note(
        `hsgate: warning: "${plain(file)}" was changed and the change is not trusted; ${what} ` +
          `until "hsgate trust ${shellHint(file)}"`,
      );
    }
  } catch (error) {
    if (!(error instanceof TrustError)) throw error;
    host.note(`hsgate: warning: ${plain(error.message)}`);
  }
}
