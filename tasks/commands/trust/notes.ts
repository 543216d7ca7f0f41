/**
 * Warns about edited recipes that wait for trust, in commands that list past runs.
 *
 * @module
 */
import { servedFiles } from "../../../lib/runner/queries/schedules.ts";
import type { Store } from "../../../lib/store/store.ts";
import { BrokerError } from "../../../lib/errors.ts";
import { TrustError } from "../../../lib/runner/trust/trust_file.ts";
import { calendarsOf } from "../../terminal/arguments.ts";
import type { Host } from "../../terminal/host.ts";
import { plain } from "../../terminal/print.ts";
import { shellHint } from "../../../lib/shell_words.ts";

/** Warns about each recipe of the store whose file has changed since it was trusted. */
export async function warnOfUntrusted(store: Store, host: Host): Promise<void> {
  const files = await servedFiles(store);
  if (files.length === 0) return;
  const { Trust } = await import("../../../lib/runner/trust/trust.ts"); // loads the compiler only here
  try {
    const trust = Trust.of(host.env);
    const records = await trust.records();
    for (const file of files) {
      const path = await Deno.realPath(file).catch(() => undefined);
      if (path === undefined || !records.has(path) || await trust.isUnchanged(path)) continue;
      const { loadRecipes } = await import("../shared/recipe_files.ts");
      const quiet = { env: host.env, calendars: calendarsOf(host), note() {} };
      const { untrusted } = await loadRecipes([file], { host: quiet, now: host.now });
      if (!untrusted.has(file)) continue;
      // The trusted version may no longer compile, for example because an inner recipe is missing.
      const kept = await trust.trustedVersion(path, { now: host.now }).catch((error) => {
        if (!(error instanceof BrokerError)) throw error;
      });
      const what = kept === undefined
        ? "the trusted version cannot be loaded, so timers and new schedulers reject the recipe"
        : "schedulers and timers run the trusted version";
      host.note(
        `hsgate: warning: "${plain(file)}" has changed and the change is not trusted; ${what} ` +
          `until you run: hsgate trust ${shellHint(file)}`,
      );
    }
  } catch (error) {
    if (!(error instanceof TrustError)) throw error;
    host.note(`hsgate: warning: ${plain(error.message)}`);
  }
}
