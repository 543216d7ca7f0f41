/**
 * Writes Kubernetes manifests: CronJobs for each recipe, or a Deployment of the scheduler. With a store in a file,
 * there is one pod at a time, because the volume allows no more. With a database, the Deployment has two schedulers.
 *
 * @module
 */
import type { CompiledRecipe } from "../recipes/compiled.ts";
import { range, sorted } from "./cron_fields.ts";
import {
  checkDeployValues,
  checksOfRecipe,
  type Deployment,
  type DeployOptions,
  folderOf,
  hasDatabase,
  missedInWords,
  needTrust,
  recipeFirings,
  runWords,
  scheduleWords,
  secretsStep,
} from "./deployment.ts";
import { type Firing, inWholeMinutes } from "./firings.ts";
import { spell } from "./numbers.ts";
import { powersOf } from "../recipes/powers.ts";
import { isPostgresUrl } from "../store/postgres_url.ts";

/** Further options for manifests. */
export interface KubernetesOptions extends DeployOptions {
  /** Image with Deno, the program and the recipes. */
  image: string;
  /** CronJobs for each recipe, or one Deployment of the scheduler. */
  as: "jobs" | "scheduler";
}

/** The controller adds eleven characters to the name of a CronJob, and a name may have at most 63. */
const LONGEST_NAME = 52;
/** Time added to a run's own time limit, for pulling the image, mounting the volume and waiting for the account. */
const SPARE_SEC = 300;

/** Returns the manifests as one file for `kubectl apply -f`. */
export function kubernetes(recipes: readonly CompiledRecipe[], options: KubernetesOptions): Deployment {
  checkDeployValues(recipes, options);
  if (!/^[\w./:@-]+$/.test(options.image)) {
    throw new TypeError(
      `Cannot deploy: --image is ${JSON.stringify(options.image)}; expected an image such as "hsgate:latest"`,
    );
  }
  if (options.as === "jobs") checkJobNames(recipes, options);
  const rows: Deployment["rows"] = [];
  const isShared = hasDatabase(options);
  const parts = options.as === "scheduler"
    ? [schedulerOf(recipes, options, rows), ...isShared ? [disruptions] : []]
    : recipes.flatMap((recipe) => cronJobsOf(recipe, options, rows));
  const volumes = isShared ? writesFiles(recipes) ? [filesVolume] : [] : [storeVolume];
  const text = [head(options), ...volumes, ...parts].join("---\n");
  return {
    files: [{ name: "hsgate.yaml", text }],
    rows,
    next: [
      "write HSGATE_GATEWAY_URL=, HSGATE_TRADE_PASSWORD= and the other settings of the recipes into hsgate.env",
      ...isShared
        ? [`write HSGATE_STORE=${options.store} and HSGATE_STORE_PASSWORD= into that file too`]
        : [],
      ...secretsStep(recipes, "that file too"),
      ...needTrust(recipes).length > 0
        ? [
          `trust the recipes while you build the image (see docs/deploy.md): it must contain ${
            trustFile(options)
          }`,
        ]
        : [],
      "kubectl create secret generic hsgate-settings --from-env-file=hsgate.env",
      "kubectl apply --dry-run=server -f hsgate.yaml && kubectl apply -f hsgate.yaml",
    ],
  };
}

/** Returns the path of the record of trusted recipes, which is part of the image. */
const trustFile = ({ dir }: DeployOptions): string => `${dir.replace(/\/+$/, "")}/trust.json`;

const head = ({ image, as, store }: KubernetesOptions) =>
  `# Recipes of hsgate in Kubernetes.
#
# The image (${image}) must contain Deno, the program, its packages and the recipes, at the paths of the arguments below.
# Settings and secrets come from the Secret "hsgate-settings"; create it from a file outside the image:
#   kubectl create secret generic hsgate-settings --from-env-file=hsgate.env
#
${
    isPostgresUrl(store)
      ? `# The store is a PostgreSQL database. Its URL is the value HSGATE_STORE of that Secret, and its password is
# HSGATE_STORE_PASSWORD there. A pod does not start without the URL. Make the database reachable over TLS.
`
      : `# The store is SQLite on a volume that only one pod at a time may use (ReadWriteOncePod, Kubernetes 1.29). Never put it
# on a network file system, an emptyDir or the container's own layer: if a slot is started a second time, only the store
# shows that it has already run.
`
  }${
    as === "scheduler" && isPostgresUrl(store)
      ? `# Each of the two schedulers may run every recipe, and each slot runs once. If one of them or its node dies, the other
# one takes over its runs within 40 s. The process ends when it cannot continue, and Kubernetes starts it again, so
# there is no probe. The setting pingUrl reports that a scheduler is alive.
`
      : as === "scheduler"
      ? `# There is one replica, and the old pod ends before the new one starts.
`
      : isPostgresUrl(store)
      ? `# To use schedulers instead: "hsgate deploy --to kubernetes --as scheduler". The jobs and
# the schedulers may run at the same time.
`
      : `# Each pod waits until the previous one ends. To use the scheduler instead: "hsgate deploy --to kubernetes --as scheduler".
# Never use both: the scheduler keeps the volume, and the pods of the jobs would wait forever.
`
  }`;

/** Returns whether a step of a recipe writes files that a person wants to keep. */
const writesFiles = (recipes: readonly CompiledRecipe[]): boolean =>
  recipes.some((recipe) => powersOf(recipe).some(({ kind }) => kind === "folder"));

const filesVolume =
  `# Files that steps write. Pods on several nodes write to it, so it needs a storage class for ReadWriteMany.
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: hsgate-files
  labels:
    app.kubernetes.io/name: hsgate
spec:
  accessModes: [ReadWriteMany]
  resources:
    requests:
      storage: 1Gi
`;

/** The manifest that keeps at least one scheduler running while nodes are drained. */
const disruptions = `apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: hsgate-schedule
  labels:
    app.kubernetes.io/name: hsgate
spec:
  minAvailable: 1
  selector:
    matchLabels:
      app.kubernetes.io/name: hsgate
      app.kubernetes.io/component: scheduler
`;

const storeVolume = `apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: hsgate-store
  labels:
    app.kubernetes.io/name: hsgate
spec:
  accessModes: [ReadWriteOncePod]
  resources:
    requests:
      storage: 1Gi
`;

/** Returns the name of one of the CronJobs of a recipe. */
const jobName = ({ name }: CompiledRecipe, index: number, times: readonly ZonedCron[]): string =>
  `hsgate-${name}${times.length === 1 ? "" : `-${index + 1}`}`;

/** Rejects recipes whose CronJobs have the same name, because Kubernetes would keep only the last one. */
function checkJobNames(recipes: readonly CompiledRecipe[], options: KubernetesOptions): void {
  const owners = new Map<string, string>();
  for (const recipe of recipes) {
    const times = cronTimesOf(recipeFirings(recipe, options));
    for (const index of times.keys()) {
      const name = jobName(recipe, index, times);
      const owner = owners.get(name);
      if (owner !== undefined) {
        throw new TypeError(
          `Cannot deploy "${owner}" and "${recipe.name}": both have a CronJob "${name}"; rename one of the recipes`,
        );
      }
      owners.set(name, recipe.name);
    }
  }
}

function cronJobsOf(
  recipe: CompiledRecipe,
  options: KubernetesOptions,
  rows: Deployment["rows"],
): string[] {
  const times = cronTimesOf(recipeFirings(recipe, options));
  rows.push({
    recipe: recipe.name,
    lines: times.map(({ cron, zone }) => `${cron} ${zone}`),
    checkedByRecipe: checksOfRecipe(recipe),
  });
  const startSec = Math.max(Math.ceil(recipe.misfire.graceMs / 1000), 60);
  const jitterMs = Math.max(0, ...recipe.schedules.map((each) => each.form === "every" ? each.jitterMs : 0));
  const limitSec = Math.ceil((recipe.timeoutMs + recipe.misfire.graceMs + jitterMs) / 1000) + SPARE_SEC;
  return times.map(({ cron, zone }, index) => {
    const name = jobName(recipe, index, times);
    // The recipe's name is also a label, so it must not end with "-".
    if (name.length > LONGEST_NAME || recipe.name.endsWith("-")) {
      throw new TypeError(
        `Cannot name a CronJob "${name}" with the label "${recipe.name}": Kubernetes allows ${LONGEST_NAME} ` +
          "characters, and both must end with a letter or a digit; rename the recipe",
      );
    }
    return `# ${recipe.name}: starts at every possible time of a slot. The recipe checks: ${
      checksOfRecipe(recipe)
    }.
# Missed slots: ${missedInWords(recipe)}.
${
      recipe.class === "write"
        ? "# It trades: never run it on two different stores, such as in two clusters.\n"
        : ""
    }apiVersion: batch/v1
kind: CronJob
metadata:
  name: ${name}
  labels:
    app.kubernetes.io/name: hsgate
    hsgate/recipe: ${JSON.stringify(recipe.name)}
spec:
  schedule: ${JSON.stringify(cron)}
  timeZone: ${zone === "UTC" ? "Etc/UTC" : zone}
  concurrencyPolicy: Forbid
  startingDeadlineSeconds: ${startSec}
  successfulJobsHistoryLimit: 3
  failedJobsHistoryLimit: 3
  jobTemplate:
    spec:
      # Only the recipe itself decides about retries.
      backoffLimit: 0
      activeDeadlineSeconds: ${limitSec}
      template:
        metadata:
          labels:
            app.kubernetes.io/name: hsgate
            hsgate/recipe: ${JSON.stringify(recipe.name)}
        spec:
          restartPolicy: Never
${podSpec(runWords(recipe, options), { recipes: [recipe], options, indent: 10 })}`;
  });
}

function schedulerOf(
  recipes: readonly CompiledRecipe[],
  options: KubernetesOptions,
  rows: Deployment["rows"],
): string {
  for (const recipe of recipes) {
    rows.push({ recipe: recipe.name, lines: ["the scheduler"], checkedByRecipe: "everything" });
  }
  return `apiVersion: apps/v1
kind: Deployment
metadata:
  name: hsgate-schedule
  labels:
    app.kubernetes.io/name: hsgate
spec:
${
    hasDatabase(options)
      ? `  replicas: 2
  strategy:
    type: RollingUpdate
    rollingUpdate:
      maxUnavailable: 1
      maxSurge: 0
`
      : `  replicas: 1
  strategy:
    type: Recreate
`
  }  selector:
    matchLabels:
      app.kubernetes.io/name: hsgate
      app.kubernetes.io/component: scheduler
  template:
    metadata:
      labels:
        app.kubernetes.io/name: hsgate
        app.kubernetes.io/component: scheduler
    spec:
${
    hasDatabase(options)
      ? `      # On different nodes, if there are at least two.
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels:
              app.kubernetes.io/name: hsgate
              app.kubernetes.io/component: scheduler
`
      : ""
  }${podSpec(scheduleWords(recipes, options), { recipes, options, indent: 6 })}`;
}

/** Where the pods store files. */
const DATA = "/data";

function podSpec(
  words: readonly string[],
  { recipes, options, indent }: {
    recipes: readonly CompiledRecipe[];
    options: KubernetesOptions;
    indent: number;
  },
): string {
  const isShared = hasDatabase(options);
  const data = isShared ? DATA : folderOf(options.store);
  // The URL of a database comes from the Secret, not from the command line.
  const named = isShared
    ? words.filter((word, index) => ![word, words[index - 1]].includes("--store"))
    : words;
  const [program = "", ...args] = [...named, "--out", data, "--json"];
  const volume = !isShared
    ? "persistentVolumeClaim:\n      claimName: hsgate-store"
    : writesFiles(recipes)
    ? "persistentVolumeClaim:\n      claimName: hsgate-files"
    : "emptyDir: {}";
  const name = isShared ? "data" : "store";
  const lines = `# The runner waits up to 25 s for a write in progress.
terminationGracePeriodSeconds: 30
automountServiceAccountToken: false
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  seccompProfile:
    type: RuntimeDefault
containers:
  - name: hsgate
    image: ${JSON.stringify(options.image)}
    workingDir: ${JSON.stringify(options.dir)}
    command: [${literal(program)}]
    args:
${args.map((word) => `      - ${literal(word)}`).join("\n")}
    env:
      - name: HOME
        value: ${literal(data)}
      - name: HSGATE_TRUST_FILE
        value: ${literal(trustFile(options))}
${
    isShared
      ? `      - name: HSGATE_STORE
        valueFrom:
          secretKeyRef:
            name: hsgate-settings
            key: HSGATE_STORE
`
      : ""
  }      - name: DENO_NO_UPDATE_CHECK
        value: "1"
      - name: NO_COLOR
        value: "1"
    envFrom:
      - secretRef:
          name: hsgate-settings
    resources:
      requests:
        cpu: 100m
        memory: 256Mi
      limits:
        memory: 512Mi
    securityContext:
      allowPrivilegeEscalation: false
      readOnlyRootFilesystem: true
      capabilities:
        drop: [ALL]
    volumeMounts:
      - name: ${name}
        mountPath: ${JSON.stringify(data)}
      # Only for temporary files${isShared ? "" : ", not for the store"}.
      - name: tmp
        mountPath: /tmp
volumes:
  - name: ${name}
    ${volume}
  - name: tmp
    emptyDir: {}
`;
  const space = " ".repeat(indent);
  return lines.replace(/^(?=.)/gm, space);
}

/**
 * Returns a text for a command or a variable in a manifest. Doubles each `$`, because Kubernetes would replace
 * `$(NAME)` with a value, even with a value from the Secret.
 */
const literal = (text: string): string => JSON.stringify(text.replaceAll("$", () => "$$"));

/** A cron pattern and its time zone. */
interface ZonedCron {
  cron: string;
  zone: string;
}

/** Returns cron patterns for these times. Times that differ only in their hours share a pattern. */
function cronTimesOf(firings: readonly Firing[]): ZonedCron[] {
  const groups = Map.groupBy(
    firings.map(inWholeMinutes),
    ({ zone, days, months, daysOfMonth, minutes }) =>
      JSON.stringify([zone, days, months, daysOfMonth, minutes]),
  );
  return [...groups.values()].map((group) => {
    const { zone, days, months, daysOfMonth, minutes } = group[0]!; // a group has at least one firing
    const hours = sorted(group.flatMap(({ hours }) => hours));
    const weekdays = days.length === 7 ? undefined : sorted(days.map((day) => day % 7));
    const fields = [
      field(minutes, 0, 59),
      field(hours, 0, 23),
      field(daysOfMonth, 1, 31),
      field(months, 1, 12),
      field(weekdays, 0, 6),
    ];
    return { cron: fields.join(" "), zone };
  });
}

const field = (values: readonly number[] | undefined, first: number, last: number): string =>
  values === undefined ? "*" : spell(values, {
    all: range(first, last),
    through: "-",
    stepped: (step) => `*/${step}`,
    of: String,
  });
