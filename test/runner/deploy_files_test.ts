import { builtInCalendars } from "../../lib/calendars/mod.ts";
import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { parseAllDocuments } from "yaml";
import * as z from "zod";
import { crontab, denoCron, type DeployOptions, kubernetes, systemd } from "../../lib/deploy/mod.ts";
import type { CompiledRecipe } from "../../lib/recipes/compiled.ts";
import { hasProgram } from "../support/programs.ts";
import manifests from "./kubernetes/manifests.schema.json" with { type: "json" };
import { at, close45, HOUR, MINUTE, recipe, step, temporaryFolder } from "./support.ts";

const options: DeployOptions = {
  deno: "/usr/bin/deno",
  denoFlags: ["--allow-net", "--allow-read"],
  program: "/opt/hsgate/tasks/hsgate.ts",
  dir: "/srv/my recipes",
  store: "/srv/store/hsgate.db",
  fileOf: ({ file }) => `/srv/my recipes/${file}`,
  calendars: builtInCalendars,
  now: at("2025-08-15T02:30:00Z"),
};
const eod = recipe();
const trader = recipe({
  name: "trader",
  file: "trader.yaml",
  class: "write",
  misfire: { graceMs: 5 * MINUTE, action: "skip", max: 1 },
  schedules: [{ ...close45, at: { anchor: "close", offsetMs: -15 * MINUTE } }],
  steps: [step({ effect: "write" })],
});
const keep = recipe({
  name: "keep",
  class: "keep-alive",
  misfire: { graceMs: 50 * MINUTE, action: "skip", max: 1 },
  timeoutMs: 2 * MINUTE,
  schedules: [{
    id: "main",
    form: "every",
    everyMs: 50 * MINUTE,
    jitterMs: 2 * MINUTE,
    while: {
      mic: "XHKG",
      from: { anchor: "open", offsetMs: -30 * MINUTE },
      to: { anchor: "close", offsetMs: 2 * HOUR },
    },
  }],
});
const monthly = recipe({
  name: "monthly",
  schedules: [{ id: "main", form: "cron", cron: "5 20 1 */6 *", timezone: "America/New_York" }],
});
const all = [eod, trader, keep, monthly];

const linesOf = (text: string) => text.split("\n").filter((line) => /^[\d*@]/.test(line));
const run = "/usr/bin/deno run --allow-net --allow-read /opt/hsgate/tasks/hsgate.ts run";

Deno.test("crontab() checks the exchange's time with date, so that the line works in any time zone of the machine", () => {
  const [timed, reboot, ...more] = linesOf(crontab([eod], options).files[0]!.text);
  const command = `umask 077; cd '/srv/my recipes' && [ ! -h /srv/store/hsgate.log ] && ` +
    `${run} '/srv/my recipes/eod.yaml' --store /srv/store/hsgate.db ` +
    `--if-new --wait 900 >>/srv/store/hsgate.log 2>&1 || echo "hsgate: eod ended with $?, see "/srv/store/hsgate.log`;
  assertEquals(
    timed,
    `*/15 * * * * case "$(TZ=Asia/Hong_Kong date +\\%u-\\%H\\%M)" in [1-5]-1245|[1-5]-1645) ${command};; esac`,
  );
  assertEquals([reboot, more], [`@reboot sleep 60; ${command}`, []]);
});

Deno.test("crontab() does not catch up a recipe that writes, and says that its store must be durable", () => {
  const { text } = crontab([trader], options).files[0]!;
  assertEquals(linesOf(text).map((line) => line.split(" umask 077; cd ")[0]), [
    `*/15 * * * * case "$(TZ=Asia/Hong_Kong date +\\%u-\\%H\\%M)" in [1-5]-1145|[1-5]-1545)`,
  ]);
  assertStringIncludes(text, "# It trades. Its store must be durable");
  assertStringIncludes(text, "it writes, so a start more than 5 min late does nothing");
});

Deno.test("crontab() matches whole hours if a schedule has many minutes, and lists dates if the schedule has few dates", () => {
  const [keeping = "", ...dated] = [keep, monthly].flatMap((each) =>
    linesOf(crontab([each], options).files[0]!.text)
  );
  assert(
    keeping.startsWith(
      '*/5 * * * * case "$(TZ=Asia/Hong_Kong date +\\%u-\\%H\\%M)" in [1-5]-09??|[1-5]-1[0-8]??) ',
    ),
  );
  assert(
    dated[0]?.startsWith(
      '5,20,35,50 * * * * case "$(TZ=America/New_York date +\\%m\\%d-\\%u-\\%H\\%M)" in 0101-?-2005|0701-?-2005) ',
    ),
    dated[0],
  );
});

Deno.test("crontab() fires in the minute of a slot in every time zone of the machine", () => {
  for (const zone of ["UTC", "Asia/Hong_Kong", "Asia/Kathmandu", "America/St_Johns", "Australia/Lord_Howe"]) {
    const line = linesOf(crontab([monthly], options).files[0]!.text)[0]!;
    const minutes = line.split(" ")[0]!.split(",").map(Number);
    for (const slot of ["2026-01-02T01:05:00Z", "2026-07-02T00:05:00Z"]) {
      const { minute } = Temporal.Instant.from(slot).toZonedDateTimeISO(zone);
      assert(minutes.includes(minute), `${zone}: minute ${minute} of ${minutes}`);
    }
  }
});

Deno.test("crontab() writes a condition that is true in a shell only at the times of slots", async () => {
  const line = linesOf(crontab([eod], options).files[0]!.text)[0]!;
  const gate = /in (\S+)\)/.exec(line)![1];
  const times = ["1-1245", "5-1645", "3-1244", "6-1245", "7-1645", "1-0045"];
  const script = times.map((time) => `case ${time} in ${gate}) echo ${time};; esac`).join("\n");
  const { stdout } = await new Deno.Command("/bin/sh", { args: ["-c", script] }).output();
  assertEquals(new TextDecoder().decode(stdout), "1-1245\n5-1645\n");
});

Deno.test({
  name: "crontab() writes lines whose log and files only their owner can read, whatever the umask of cron",
  ignore: Deno.build.os === "windows",
  async fn() {
    using folder = temporaryFolder();
    const dir = folder.path;
    // This script replaces Deno. It creates a file without naming a mode, and prints a line for the log.
    await Deno.writeTextFile(`${dir}/deno`, "#!/bin/sh\ntouch made\necho ran\n", { mode: 0o700 });
    const paths = { dir, deno: `${dir}/deno`, store: `${dir}/hsgate.db` };
    for (const line of linesOf(crontab([eod], { ...options, ...paths }).files[0]!.text)) {
      const command = line.replace(/^(@reboot|\S+ \* \* \* \*) /, "").replaceAll("\\%", "%")
        .replace(/^case .* in \S+\)/, "case now in now)").replace("sleep 60;", "");
      const script = `umask 000; ${command}`;
      const { stdout } = await new Deno.Command("/bin/sh", { args: ["-c", script], cwd: "/" }).output();
      assertEquals(new TextDecoder().decode(stdout), "", "nothing for cron's mail");
      for (const name of ["hsgate.log", "made"]) {
        const { mode } = await Deno.stat(`${dir}/${name}`);
        assertEquals((mode! & 0o777).toString(8), "600", `${name} of ${line}`);
        await Deno.remove(`${dir}/${name}`);
      }
      // Somebody else's folder may contain a link to a file that a shell runs, such as .bashrc.
      await Deno.writeTextFile(`${dir}/precious`, "kept");
      await Deno.symlink(`${dir}/precious`, `${dir}/hsgate.log`);
      const linked = await new Deno.Command("/bin/sh", { args: ["-c", script], cwd: "/" }).output();
      assertStringIncludes(new TextDecoder().decode(linked.stdout), "hsgate: eod ended with 1, see ");
      assertEquals(await Deno.readTextFile(`${dir}/precious`), "kept");
      await Deno.remove(`${dir}/hsgate.log`);
    }
  },
});

Deno.test("crontab() rejects a line that Debian's cron would cut, and a period that cron cannot express", () => {
  const deep = { ...options, dir: `/srv/${"deep/".repeat(150)}x` };
  assertThrows(() => crontab([eod], deep), TypeError, "and cron accepts 998");
  for (const dir of ["/srv/a\\%b", "/srv/a\\\\b"]) {
    assertThrows(() => crontab([eod], { ...options, dir }), TypeError, "a path has a backslash before");
  }
  assertStringIncludes(crontab([eod], { ...options, dir: "/srv/a\\b%c" }).files[0]!.text, "'/srv/a\\b\\%c'");
  const quick = recipe({ schedules: [{ id: "s", form: "every", everyMs: 30_000, jitterMs: 0 }] });
  assertThrows(
    () => crontab([quick], options),
    TypeError,
    'Cannot start "eod" every 30 s with another system',
  );
});

const unitsOf = (recipes: CompiledRecipe[], forUser = false, more: Partial<DeployOptions> = {}) =>
  new Map(
    systemd(recipes, { ...options, ...more, forUser, runAs: "hsgate" }).files.map((
      { name, text },
    ) => [name, text]),
  );

Deno.test("systemd() writes a service and a timer for each recipe, and one service for the scheduler", () => {
  const units = unitsOf([eod, trader]);
  assertEquals([...units.keys()], [
    "hsgate-eod.service",
    "hsgate-eod.timer",
    "hsgate-trader.service",
    "hsgate-trader.timer",
    "hsgate-schedule.service",
  ]);
  const settings = (name: string) => units.get(name)!.split("\n").filter((line) => /^\w+=/.test(line));
  assertEquals(settings("hsgate-eod.timer"), [
    "Description=Timer of hsgate recipe eod",
    "OnCalendar=Mon..Fri *-*-* 12:45:00 Asia/Hong_Kong",
    "OnCalendar=Mon..Fri *-*-* 16:45:00 Asia/Hong_Kong",
    "AccuracySec=1s",
    "RandomizedDelaySec=0",
    "Persistent=true",
    "WantedBy=timers.target",
  ]);
  assert(settings("hsgate-trader.timer").includes("Persistent=false"));
  const service = settings("hsgate-eod.service");
  for (
    const each of [
      "Type=oneshot",
      `ExecStart=${run} "/srv/my recipes/eod.yaml" --store /srv/store/hsgate.db --if-new --wait 900`,
      "WorkingDirectory=/srv/my recipes",
      'ReadWritePaths="/srv/my recipes" /srv/store',
      "TimeoutStopSec=30",
      "TimeoutStartSec=4620", // an hour, a grace of 15 minutes, and two minutes
      "KillSignal=SIGTERM",
      "ProtectSystem=strict",
      "NoNewPrivileges=true",
      "EnvironmentFile=-/etc/hsgate/env",
      "User=hsgate",
    ]
  ) assert(service.includes(each), each);
  const scheduler = settings("hsgate-schedule.service");
  for (const each of ["Type=exec", "Restart=on-failure", "RestartPreventExitStatus=2", "TimeoutStopSec=30"]) {
    assert(scheduler.includes(each), each);
  }
});

Deno.test("systemd() says how to check that another user may read files of a home folder", () => {
  const left = (more: Partial<DeployOptions>, forUser = false) =>
    systemd([eod], { ...options, ...more, forUser, runAs: "hsgate" }).next.filter((line) =>
      line.includes("home folder")
    );
  const inHome = { program: "/home/ann/.local/share/hsgate/h.ts", dir: "/root/my recipes" };
  assertEquals(left({}), []);
  assertEquals(left(inHome, true), []);
  const [line = "", ...more] = left(inHome);
  assertEquals(more, []);
  assertStringIncludes(line, "sudo -u hsgate sh -c ");
  assertStringIncludes(line, "test -r /home/ann/.local/share/hsgate/h.ts && test -r ");
  assert(!line.includes("test -r /usr/bin/deno"));
  assertStringIncludes(line, "with --user, or with --run-as and the name of the folder's owner");
});

Deno.test("systemd() omits from user units what user units may not set, and escapes % and $", () => {
  const text = unitsOf([eod], true, { store: "/srv/100%/$a.db" }).get("hsgate-eod.service")!;
  assert(!/^(User|ProtectSystem|PrivateTmp|After)=/m.test(text), text);
  assertStringIncludes(text, "EnvironmentFile=-%h/.config/hsgate/env");
  assertStringIncludes(text, "--store /srv/100%%/$$a.db --if-new");
});

async function analyze(args: string[]): Promise<{ code: number; text: string }> {
  using runtime = temporaryFolder();
  const { code, stdout, stderr } = await new Deno.Command("systemd-analyze", {
    args,
    env: { XDG_RUNTIME_DIR: runtime.path },
  }).output();
  const decoder = new TextDecoder();
  return { code, text: decoder.decode(stdout) + decoder.decode(stderr) };
}
const hasSystemd = await hasProgram("systemd-analyze");
/** A note for the names of the tests that are skipped without systemd-analyze. */
const reason = hasSystemd ? "" : " (left out: no systemd-analyze on this machine)";

/** Lets systemd verify units. Resolves to its output, which ends with the exit code if a unit is invalid. */
async function verify(units: Map<string, string>, scope: string[] = []): Promise<string> {
  using folder = temporaryFolder();
  for (const [name, text] of units) {
    // The check also looks for programs and folders, which depend on the machine.
    const here = text.replaceAll("/usr/bin/deno", Deno.execPath());
    await Deno.writeTextFile(`${folder.path}/${name}`, here);
  }
  const paths = [...units.keys()].map((name) => `${folder.path}/${name}`);
  const { code, text } = await analyze([...scope, "verify", ...paths]);
  return code === 0 ? text : `${text}\nexit code ${code}`;
}

Deno.test({
  name:
    `systemd-analyze verify accepts the units, of the machine and of a user, and notices a wrong one${reason}`,
  ignore: !hasSystemd,
  async fn() {
    assertEquals(await verify(unitsOf(all)), "");
    assertEquals(await verify(unitsOf(all, true), ["--user"]), "");
    const wrong = new Map(
      [...unitsOf([eod])].map(([name, text]) => [name, text.replace("RandomizedDelaySec", "RandomDelaySec")]),
    );
    assertStringIncludes(await verify(wrong), "Unknown key 'RandomDelaySec' in section [Timer]");
  },
});

Deno.test({
  name: `systemd-analyze calendar reads every time and finds the slot of a half-day${reason}`,
  ignore: !hasSystemd,
  async fn() {
    const times = systemd(all, { ...options, forUser: false, runAs: "hsgate" }).rows.flatMap(({ lines }) =>
      lines
    );
    for (const time of times) {
      const found = await analyze(["calendar", "--base-time=2025-12-23 23:00:00 UTC", time]);
      assertEquals(found.code, 0, time);
    }
    const half = await analyze(["calendar", "--base-time=2025-12-23 23:00:00 UTC", times[0]!]);
    // On Christmas Eve, Hong Kong closes at 12:00.
    assertStringIncludes(half.text, "2025-12-24 04:45:00 UTC");
  },
});

const schema = z.fromJSONSchema(
  // A published schema; the file is read as plain data.
  manifests as Parameters<typeof z.fromJSONSchema>[0],
);
const kube = (recipes: CompiledRecipe[], as: "jobs" | "scheduler" = "jobs") =>
  kubernetes(recipes, {
    ...options,
    dir: "/app",
    store: "/data/hsgate.db",
    fileOf: ({ file }) => `/app/recipes/${file}`,
    image: "registry.example/hsgate:1",
    as,
  }).files[0]!.text;
// deno-lint-ignore no-explicit-any -- documents are checked against the schema first
const documents = (text: string): any[] => parseAllDocuments(text).map((document) => document.toJS());

Deno.test("kubernetes() writes manifests that match Kubernetes' own schema, without unknown members", () => {
  const found = [...documents(kube(all)), ...documents(kube(all, "scheduler"))];
  assertEquals(found.map(({ kind }) => kind), [
    "PersistentVolumeClaim",
    "CronJob", // eod: 12:45 and 16:45 are one pattern
    "CronJob",
    "CronJob",
    "CronJob",
    "PersistentVolumeClaim",
    "Deployment",
  ]);
  for (const each of found) assertEquals(schema.safeParse(each).error, undefined, each.metadata.name);
  const mutations = [
    ["concurrencyPolicy: Forbid", "concurrencyPolicies: Forbid"],
    ["concurrencyPolicy: Forbid", "concurrencyPolicy: Never"],
    ["backoffLimit: 0", "backoffLimit: none"],
    ["timeZone:", "timezone:"],
    ["readOnlyRootFilesystem: true", "readOnlyRootFileSystem: true"],
    ["claimName: hsgate-store", "claim: hsgate-store"],
  ] as const;
  for (const [from, to] of mutations) {
    const text = kube([eod]);
    assertStringIncludes(text, from);
    assert(documents(text.replace(from, to)).some((each) => !schema.safeParse(each).success), to);
  }
});

Deno.test("kubernetes() writes the grace, the timeout, the command, the volumes and the restrictions of the pod", () => {
  const [claim, job] = documents(kube([eod]));
  assertEquals(claim.spec.accessModes, ["ReadWriteOncePod"]);
  assertEquals(
    [job.metadata.name, job.spec.schedule, job.spec.timeZone, job.spec.concurrencyPolicy],
    ["hsgate-eod", "45 12,16 * * 1-5", "Asia/Hong_Kong", "Forbid"],
  );
  assertEquals(job.spec.startingDeadlineSeconds, 900);
  assertEquals([job.spec.jobTemplate.spec.backoffLimit, job.spec.jobTemplate.spec.activeDeadlineSeconds], [
    0,
    4800,
  ]);
  const pod = job.spec.jobTemplate.spec.template.spec;
  assertEquals([pod.restartPolicy, pod.terminationGracePeriodSeconds], ["Never", 30]);
  const [{ command, args, envFrom, securityContext, volumeMounts }] = pod.containers;
  assertEquals([...command, ...args], [
    "/usr/bin/deno",
    "run",
    "--allow-net",
    "--allow-read",
    "/opt/hsgate/tasks/hsgate.ts",
    "run",
    "/app/recipes/eod.yaml",
    "--store",
    "/data/hsgate.db",
    "--if-new",
    "--wait",
    "900",
    "--out",
    "/data",
    "--json",
  ]);
  assertEquals(envFrom, [{ secretRef: { name: "hsgate-settings" } }]);
  assertEquals([pod.securityContext.runAsNonRoot, securityContext.readOnlyRootFilesystem], [true, true]);
  // The store is on the claimed volume; folders that may be emptied are elsewhere.
  assertEquals(volumeMounts[0], { name: "store", mountPath: "/data" });
  assertEquals(pod.volumes[0], { name: "store", persistentVolumeClaim: { claimName: "hsgate-store" } });
  const minute = { ...eod, misfire: { ...eod.misfire, graceMs: 1000 } };
  assertEquals(documents(kube([minute]))[1].spec.startingDeadlineSeconds, 60);
});

Deno.test("kubernetes() writes several jobs for several minutes, and one replica for the scheduler", () => {
  const twice = recipe({ schedules: [close45, { ...close45, id: "s2", at: { time: "09:20" } }] });
  assertEquals(
    documents(kube([twice, monthly])).slice(1).map(({ metadata, spec }) => [metadata.name, spec.schedule]),
    [
      ["hsgate-eod-1", "45 12,16 * * 1-5"],
      ["hsgate-eod-2", "20 9 * * 1-5"],
      ["hsgate-monthly", "5 20 1 1,7 *"],
    ],
  );
  const [, deployment] = documents(kube(all, "scheduler"));
  assertEquals([deployment.spec.replicas, deployment.spec.strategy], [1, { type: "Recreate" }]);
  const long = recipe({ name: "a".repeat(50) });
  assertThrows(() => kube([long]), TypeError, "Kubernetes allows 52 characters");
  const odd = recipe({ name: "eod-" });
  assertThrows(() => kube([odd]), TypeError, "both must end with a letter or a digit");
  // The names of several jobs end with a number, but the label still ends like the recipe's name.
  const oddTwice = recipe({
    name: "eod-",
    schedules: [close45, { ...close45, id: "s2", at: { time: "09:20" } }],
  });
  assertThrows(() => kube([oddTwice]), TypeError, 'with the label "eod-"');
  const labels = documents(kube([twice])).slice(1).flatMap(({ metadata, spec }) => [
    metadata.labels["hsgate/recipe"],
    spec.jobTemplate.spec.template.metadata.labels["hsgate/recipe"],
  ]);
  assertEquals(labels, ["eod", "eod", "eod", "eod"]);
});

/**
 * Returns what Kubernetes makes of a text in `command`, `args` and the values of `env`, as its documentation of
 * Container says: `$$` becomes `$`, and `$(NAME)` becomes the variable's value if there is one.
 */
function expanded(text: string, env: Readonly<Record<string, string>>): string {
  return text.replace(/\$\$|\$\(([^)]*)\)/g, (found, name: string | undefined) => {
    if (name === undefined) return "$";
    return env[name] ?? found;
  });
}

Deno.test("kubernetes() writes paths that Kubernetes does not expand to the values of the Secret", () => {
  const env = { HSGATE_TRADE_PASSWORD: "Tr4de-Pa55", HOME: "/data" };
  for (const name of ["x$(HSGATE_TRADE_PASSWORD)", "x$$(HSGATE_TRADE_PASSWORD)", "$", "a$$b", "$(HOME)$"]) {
    const dir = `/srv/${name}`;
    const hostile = {
      dir,
      deno: `${dir}/deno`,
      program: `${dir}/hsgate.ts`,
      store: `${dir}/hsgate.db`,
      config: `${dir}/hsgate.yaml`,
      denoFlags: [`--allow-read=${dir}`],
      fileOf: () => `${dir}/r.yaml`,
    };
    for (const as of ["jobs", "scheduler"] as const) {
      const { files } = kubernetes([eod], { ...options, ...hostile, image: "i", as });
      const pods = documents(files[0]!.text).flatMap(({ spec }) =>
        spec.template?.spec ?? spec.jobTemplate?.spec.template.spec ?? []
      );
      assertEquals(pods.length, 1);
      const { command, args, env: variables, workingDir } = pods[0].containers[0];
      const seen = [...command, ...args].map((word: string) => expanded(word, env));
      for (const word of [hostile.deno, hostile.program, hostile.store, hostile.config, `${dir}/r.yaml`]) {
        assertEquals(seen.filter((each) => each === word), [word], `${as} ${name}`);
      }
      assertEquals(seen.filter((each) => each === hostile.denoFlags[0]).length, 1);
      assertEquals(seen.slice(-3), ["--out", dir, "--json"]);
      const values = Object.fromEntries(
        variables.map((
          each: { name: string; value?: string },
        ) => [each.name, expanded(each.value ?? "", env)]),
      );
      assertEquals([values.HOME, values.HSGATE_TRUST_FILE], [dir, `${dir}/trust.json`]);
      assertEquals(workingDir, dir, "Kubernetes expands nothing there");
    }
  }
});

Deno.test("kubernetes() with a database writes two schedulers that take its URL from the Secret", () => {
  const database = "postgres://hsgate@db.example.com/hsgate";
  const write = (recipes: CompiledRecipe[], as: "jobs" | "scheduler") =>
    kubernetes(recipes, {
      ...options,
      dir: "/app",
      store: database,
      fileOf: ({ file }) => `/app/recipes/${file}`,
      image: "registry.example/hsgate:1",
      as,
    });
  const exporting = recipe({
    name: "export",
    steps: [step({ reaches: [{ kind: "writes", name: "out" }] })],
  });
  for (
    const [recipes, as, kinds] of [
      [[eod, trader], "scheduler", ["Deployment", "PodDisruptionBudget"]],
      [[eod, exporting], "scheduler", ["PersistentVolumeClaim", "Deployment", "PodDisruptionBudget"]],
      [[eod], "jobs", ["CronJob"]],
    ] as const
  ) {
    const { files, next } = write([...recipes], as);
    const found = documents(files[0]!.text);
    assertEquals(found.map(({ kind }) => kind), [...kinds]);
    for (const each of found) assertEquals(schema.safeParse(each).error, undefined, each.metadata.name);
    // A person writes the URL into the Secret; no manifest contains it.
    assert(!files[0]!.text.includes("db.example.com"));
    assertStringIncludes(next.join("\n"), `write HSGATE_STORE=${database} and HSGATE_STORE_PASSWORD= into`);
    const pods = found.flatMap(({ kind, spec }) =>
      kind === "Deployment"
        ? [spec.template.spec]
        : kind === "CronJob"
        ? [spec.jobTemplate.spec.template.spec]
        : []
    );
    for (const pod of pods) {
      const [{ args, env, volumeMounts }] = pod.containers;
      assertEquals(args.includes("--store"), false);
      // Without HSGATE_STORE, a pod would use its own store file. So a pod without this variable must not start.
      assertEquals(env.find(({ name }: { name: string }) => name === "HSGATE_STORE"), {
        name: "HSGATE_STORE",
        valueFrom: { secretKeyRef: { name: "hsgate-settings", key: "HSGATE_STORE" } },
      });
      assertEquals(volumeMounts[0], { name: "data", mountPath: "/data" });
    }
  }
  const [deployment, budget] = documents(write([eod, trader], "scheduler").files[0]!.text);
  const { replicas, strategy, selector, template } = deployment.spec;
  assertEquals([replicas, strategy.type, strategy.rollingUpdate], [2, "RollingUpdate", {
    maxUnavailable: 1,
    maxSurge: 0,
  }]);
  assertEquals(budget.spec, { minAvailable: 1, selector });
  assertEquals(template.spec.topologySpreadConstraints[0].labelSelector, selector);
  const { securityContext, containers, volumes } = template.spec;
  assertEquals([securityContext.runAsNonRoot, containers[0].securityContext.readOnlyRootFilesystem], [
    true,
    true,
  ]);
  assertEquals(volumes[0], { name: "data", emptyDir: {} });
  const [claim, files] = documents(write([exporting], "scheduler").files[0]!.text);
  assertEquals(claim.spec.accessModes, ["ReadWriteMany"]);
  assertEquals(files.spec.template.spec.volumes[0], {
    name: "data",
    persistentVolumeClaim: { claimName: "hsgate-files" },
  });
});

Deno.test("for a database, crontab() and systemd() write its URL, and read its password from the environment file", () => {
  const store = "postgres://hsgate@db.example.com/hsgate?sslrootcert=/etc/ca.pem";
  const cron = crontab([eod], { ...options, store });
  for (const line of linesOf(cron.files[0]!.text)) {
    assertStringIncludes(line, "'--env-file=/srv/my recipes/hsgate.env'");
    assertStringIncludes(line, `--store '${store}' --if-new`);
    assertStringIncludes(line, ">>'/srv/my recipes/hsgate.log'");
  }
  const units = systemd([eod], { ...options, store, forUser: false, runAs: "hsgate" });
  for (const { name, text } of units.files) {
    if (!name.endsWith(".service")) continue;
    assertStringIncludes(text, ` --store ${store}`);
    assertStringIncludes(text, "EnvironmentFile=-/etc/hsgate/env");
    assertStringIncludes(text, 'ReadWritePaths="/srv/my recipes"\n');
  }
  for (const { next } of [cron, units]) {
    assertStringIncludes(next.join("\n"), "the password of the database, as HSGATE_STORE_PASSWORD=value in ");
  }
});

Deno.test("denoCron() rejects a recipe that trades, unless a timeline is named", () => {
  const cronOptions = { ...options, tickModule: "./tick.ts" };
  const error = assertThrows(() => denoCron([eod, trader], cronOptions), TypeError);
  assertStringIncludes(error.message, 'Cannot deploy "trader" to Deno.cron: it trades');
  const { files, next } = denoCron([eod, trader], { ...cronOptions, timeline: "production" });
  const { text } = files[0]!;
  // Without this variable, Deno would ask its own server for a newer version.
  for (const lines of [next.join("\n"), text]) {
    assertStringIncludes(lines, "DENO_NO_UPDATE_CHECK=1 deno run --unstable-cron ");
  }
  assertStringIncludes(text, '  timeline: "production",\n');
  assertStringIncludes(text, 'Deno.cron("hsgate tick", "* * * * *", async () => {');
  assert(!denoCron([eod], { ...cronOptions, timeline: "production" }).files[0]!.text.includes("timeline:"));
});

Deno.test("denoCron() quotes the flags in the command that its program shows", () => {
  const denoFlags = ["--config", "/srv/a; rm -r b/deno.json"];
  const { files, next } = denoCron([eod], { ...options, tickModule: "./t.ts", denoFlags });
  for (const text of [files[0]!.text, next.join("\n")]) {
    assertStringIncludes(text, "--config '/srv/a; rm -r b/deno.json' hsgate_cron.ts");
  }
});

Deno.test("deployments name the variables of secrets, and cron reads them from a file", () => {
  const secret = recipe({
    secrets: { chat: { env: "CHAT_WEBHOOK" }, key: { file: "key.txt" } },
    secretNames: ["chat", "key", "mail-password"],
  });
  const names = "CHAT_WEBHOOK, HSGATE_SECRET_MAIL_PASSWORD";
  const cron = crontab([secret], options);
  assertStringIncludes(
    cron.files[0]!.text,
    `# Its secrets, as NAME=value in /srv/my recipes/hsgate.env: ${names}\n`,
  );
  for (const line of linesOf(cron.files[0]!.text)) {
    assertStringIncludes(
      line,
      " --allow-read '--env-file=/srv/my recipes/hsgate.env' /opt/hsgate/tasks/hsgate.ts run",
    );
  }
  for (
    const { next } of [
      cron,
      systemd([secret], { ...options, forUser: false, runAs: "x" }),
      kubernetes([secret], { ...options, image: "i", as: "jobs" }),
    ]
  ) assertStringIncludes(next.join("\n"), names);
  assert(!crontab([eod], options).files[0]!.text.includes("--env-file"));
});

Deno.test("deployments name the command that downloads the packages into the cache that the started recipes use", () => {
  const fetch =
    "/usr/bin/deno install --quiet --frozen --config /opt/hsgate/deno.json --entrypoint /opt/hsgate/tasks/hsgate.ts";
  const configured = { ...options, denoFlags: [...options.denoFlags, "--config", "/opt/hsgate/deno.json"] };
  const linesOf = ({ next }: { next: string[] }) => next.filter((line) => line.includes(" install "));
  const note = "   # once: downloads the packages, so that no start waits for them";
  assertEquals(linesOf(crontab([eod], configured)), [`${fetch}${note}`]);
  assertEquals(linesOf(crontab([eod], { ...configured, denoDir: "/var/my deno" })), [
    `env 'DENO_DIR=/var/my deno' ${fetch}${note}`,
  ]);
  assertEquals(linesOf(systemd([eod], { ...configured, forUser: true, runAs: "x" })), [`${fetch}${note}`]);
  const units = systemd([eod], { ...configured, forUser: false, runAs: "trader" });
  assertEquals(linesOf(units), [
    "sudo install -d -o trader /var/cache/hsgate",
    `sudo -u trader env DENO_DIR=/var/cache/hsgate ${fetch}${note}`,
  ]);
  assertStringIncludes(units.files[0]!.text, "Environment=DENO_DIR=/var/cache/hsgate");
});

Deno.test("no value can add a line, end a comment or continue a setting in a deployed file", () => {
  const writers: ((recipes: CompiledRecipe[], more: Partial<DeployOptions>) => unknown)[] = [
    (recipes, more) => crontab(recipes, { ...options, ...more }),
    (recipes, more) => systemd(recipes, { ...options, forUser: false, runAs: "x", ...more }),
    (recipes, more) => kubernetes(recipes, { ...options, image: "i", as: "jobs", ...more }),
    (recipes, more) => denoCron(recipes, { ...options, tickModule: "./t.ts", ...more }),
  ];
  for (const write of writers) {
    write([eod], {}); // control: valid values pass
    for (
      const bad of [
        "/srv/a\n* * * * * evil",
        "/srv/\r",
        "/srv/\0",
        "/a */ evil() /*",
        "/srv/a\\",
        "/a\u2028b",
        "/a\u202eb",
        "/a\u200bb",
        "/srv/a ",
      ]
    ) {
      for (const option of ["dir", "store", "program", "deno", "denoDir", "storeRisk"] as const) {
        assertThrows(() => write([eod], { [option]: bad }), TypeError, `Cannot deploy: the ${option} is`);
      }
      assertThrows(() => write([eod], { denoFlags: ["-A", bad] }), TypeError, "denoFlags");
      assertThrows(() => write([eod], { fileOf: () => bad }), TypeError, "file of a recipe");
      const secret = recipe({ secrets: { x: { env: bad } }, secretNames: ["x"] });
      assertThrows(() => write([secret], {}), TypeError, "variable of a secret");
    }
  }
  for (const runAs of ["x\nExecStartPre=/evil", "-x", "a b", ""]) {
    assertThrows(() => systemd([eod], { ...options, forUser: false, runAs }), TypeError, "Cannot deploy: ");
  }
  for (const deno of ["+/usr/bin/deno", "!deno", "-deno", "@deno", ":deno"]) {
    const unit = { ...options, deno, forUser: false, runAs: "x" };
    assertThrows(() => systemd([eod], unit), TypeError, "Cannot deploy: --deno is");
  }
  for (const image of ["i\nkind: Pod", "i # x", ""]) {
    assertThrows(() => kubernetes([eod], { ...options, image, as: "jobs" }), TypeError, "Cannot deploy: ");
  }
  const timeline = "x\n */ evil() /*";
  assertThrows(
    () => denoCron([trader], { ...options, tickModule: "./t.ts", timeline }),
    TypeError,
    "timeline",
  );
});

Deno.test("no recipe takes the name of another unit or CronJob", () => {
  const eodTwice = recipe({
    name: "eod",
    schedules: [
      { id: "x", form: "cron", cron: "5 9 * * *", timezone: "UTC" },
      { id: "y", form: "cron", cron: "7 9 * * *", timezone: "UTC" },
    ],
  });
  const once = (name: string) => recipe({ name, schedules: [eodTwice.schedules[0]!] });
  const jobs = (recipes: CompiledRecipe[]) => kubernetes(recipes, { ...options, image: "i", as: "jobs" });
  jobs([eodTwice, once("eod-3")]); // control
  for (const recipes of [[eodTwice, once("eod-2")], [once("eod-2"), eodTwice]]) {
    assertThrows(() => jobs(recipes), TypeError, 'both have a CronJob "hsgate-eod-2"');
  }
  const units = (name: string) => systemd([once(name)], { ...options, forUser: true, runAs: "x" });
  units("scheduler"); // control
  assertThrows(() => units("schedule"), TypeError, 'Cannot deploy the recipe "schedule"');
});
