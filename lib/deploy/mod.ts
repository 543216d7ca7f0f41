/**
 * Returns the texts of files that start recipes from a crontab, systemd, Kubernetes or Deno.cron. Writes no files.
 *
 * @module
 */
export { crontab, environmentFile, logFile } from "./crontab.ts";
export { denoCron, type DenoCronOptions } from "./deno_cron.ts";
export type { DeployFile, Deployment, DeployOptions, DeployRow } from "./deployment.ts";
export { type Firing, firingsOf } from "./firings.ts";
export { kubernetes, type KubernetesOptions } from "./kubernetes.ts";
export { systemd, type SystemdOptions } from "./systemd.ts";
