/**
 * What the commands that look back say of edited recipes that wait for their trust.
 *
 * @module
 */
import type { Ledger } from "../../../lib/runner/ledger.ts";
import type { Host } from "../host.ts";
import { plain } from "../print.ts";

/** Warns of each recipe of the ledger whose file was edited and is not trusted as it is. */
export async function tellUntrusted(ledger: Ledger, host: Host): Promise<void> {
  const rows = ledger.all<{ file: string }>("select distinct file from schedule where file is not null");
  if (rows.length === 0) return;
  const { Trust, TrustError } = await import("../../../lib/runner/trust.ts"); // compiles, which lists need seldom
  try {
    const trust = Trust.of(host.env);
    const records = await trust.records();
    for (const { file } of rows) {
      const path = await Deno.realPath(file).catch(() => undefined);
      if (path === undefined || !records.has(path) || await trust.isUnchanged(path)) continue;
      const { loadRecipes } = await import("./recipe_files.ts");
      const { untrusted } = await loadRecipes([file], { host: { env: host.env, note() {} }, now: host.now });
      if (!untrusted.has(file)) continue;
      host.note(
        `hsgate: warning: "${
          plain(file)
        }" was changed and the change is not trusted; schedulers and timers run the ` +
          `version that was trusted until "hsgate trust ${plain(file)}"`,
      );
    }
  } catch (error) {
    if (!(error instanceof TrustError)) throw error;
    host.note(`hsgate: warning: ${plain(error.message)}`);
  }
}
