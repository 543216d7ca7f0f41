// deno-lint-ignore-file no-console -- a program that prints its results
/**
 * Shows that the swarm finds wrong programs. Each mutation makes one mistake in a copy of the source; the swarm must
 * then fail within a stated number of one-day seeds.
 *
 * Run it with `deno run -A test/swarm/mutations.ts [NAME …]`. It exits with 1 if a mutation survives.
 *
 * @module
 */
import { copyTree } from "./copy_tree.ts";

/** A change that makes the program wrong. */
interface Mutation {
  name: string;
  file: string;
  from: string;
  to: string;
  /** A second place of the same file, for a mistake that another check would hide. */
  also?: { from: string; to: string };
  /** Number of one-day seeds, from seed 1, within which the swarm finds it. */
  within: number;
}

export const mutations: readonly Mutation[] = [
  {
    name: "the intent is written after the send",
    file: "lib/desk/send.ts",
    from: "await records.first(operation.name, () => begin(deps, write, approval));",
    to: "setTimeout(() => void begin(deps, write, approval).catch(() => {}), 2_000);",
    within: 20,
  },
  {
    name: "a write is sent again after a timeout",
    file: "lib/desk/send.ts",
    from: "return await noAnswer(deps, id, { wanted, error });",
    to: `if (error instanceof OutcomeUnknownError) {
      answer = await wanted.send(options);
      await takeAnswer(records, write, answer);
      return answer;
    }
    return await noAnswer(deps, id, { wanted, error });`,
    within: 10,
  },
  {
    name: "an order that one reading does not show counts as not sent",
    file: "lib/desk/reconcile.ts",
    from: "return await countAbsence(records, intent, { reading, owners: others.owners });",
    to: `await records.moveFrom(intent, { to: "abandoned", by: "list", data: { proof: "not found" } });
      return void countAbsence;`,
    within: 20,
  },
  {
    name: "a fill is counted twice",
    file: "lib/desk/follow.ts",
    from: "const filled = sumOf(rows.map((row) => row.filled));",
    to: "const filled = sumOf([...rows, ...rows].map((row) => row.filled));",
    within: 10,
  },
  {
    name: "an order from before a request can be mistaken for the order of that request",
    file: "lib/desk/prove.ts",
    from: 'if (intent.kind !== "place" || intent.known.includes(order.orderId)) return false;',
    to: 'if (intent.kind !== "place") return false;',
    also: {
      from: "couldBeOwn(order, intent, others) && !isPlacedBefore(order, intent)",
      to: "couldBeOwn(order, intent, others)",
    },
    within: 40,
  },
  {
    name: "a halt in the store is ignored",
    file: "lib/desk/send.ts",
    from: "if (halt !== undefined) throw halted",
    to: "if (halt?.why === '') throw halted",
    within: 20,
  },
  {
    name: "the first order of the day does not count in the limits",
    file: "lib/desk/guards/values.ts",
    from: "const before = sumOf(chains.filter(isCounted).map(valueOf));",
    to: "const before = sumOf(chains.filter(isCounted).slice(1).map(valueOf));",
    within: 60,
  },
  {
    name: "a fill costs a cent more than its amount",
    file: "lib/simulator/broker/orders/orders.ts",
    from: "+= isSell ? amount : -amount;",
    to: "+= isSell ? amount : -amount - 1n;",
    within: 10,
  },
  {
    name: "a fee is charged that no list shows",
    file: "lib/simulator/broker/account/clearing.ts",
    from: "state.cash[currency] -= total;",
    to: "state.cash[currency] -= total + 1n;",
    within: 10,
  },
  {
    name: "the cash that can be withdrawn is below zero",
    file: "lib/simulator/broker/account/account.ts",
    from: "const withdrawable = available > proceeds ? available - proceeds : 0n;",
    to: "const withdrawable = available - proceeds - 1_000_000_000_000n;",
    within: 10,
  },
  {
    name: "the window of a recipe is not checked again before a write",
    file: "lib/runner/run/run.ts",
    from:
      "const outside = whyOutside(this.#deps.calendars(), this.#recipe, this.#row.slot_at, machine.now());",
    to: "const outside = undefined as ReturnType<typeof whyOutside>;",
    within: 100,
  },
  {
    name: "the fence of a run is not checked in the transaction that records a write",
    file: "lib/runner/run/run.ts",
    from: "await claimedTransaction(store, this.#claim, machine.now(), () => this.#refuseOutside());",
    to: "void claimedTransaction, store, machine;\n    await this.#refuseOutside();",
    within: 500,
  },
  {
    name: "the age of a record is not checked again before the first byte",
    file: "lib/desk/send.ts",
    from: "        mayLeave();\n        options.beforeFirstByte?.();",
    to: "        void mayLeave;\n        options.beforeFirstByte?.();",
    within: 150,
  },
  {
    name: "the store does not wait until a commit is on the disk",
    file: "lib/store/sqlite.ts",
    from: '"synchronous = full",',
    to: '"synchronous = normal",',
    within: 60,
  },
  {
    name: "a plan buys with the cash that it had estimated",
    file: "lib/rebalance/execution/cover.ts",
    from: "return { cash: subtract(cash, kept) };",
    to: `const sales = this.#plan.trades.filter(({ side }) => side === "sell").map(({ value }) => value);
    const estimate = add(this.#plan.cash[currency] ?? "0", ...sales);
    void cash;
    return { cash: subtract(estimate, add(kept, costs(own.filter(isPurchase), usedOf))) };`,
    within: 200,
  },
  {
    name: "a plan buys with the proceeds of sales before the broker shows them",
    file: "lib/rebalance/execution/cover.ts",
    from: "      : available;\n",
    to:
      `      : add(available, ...this.#plan.trades.filter(({ side }) => side === "sell").map(({ value }) => value));\n`,
    within: 200,
  },
  {
    name: "a plan buys with the cash of its buffer",
    file: "lib/rebalance/execution/cover.ts",
    from: 'const kept = add(compare(fees, "0") > 0 ? fees : "0", cashBuffer[currency] ?? "0");',
    to: 'const kept = compare(fees, "0") > 0 ? fees : "0";\n    void cashBuffer;',
    within: 200,
  },
  {
    name: "the execution of a plan does not end at its deadline",
    file: "lib/rebalance/execution/execution.ts",
    from: "if (now >= this.#deadlineAt) {",
    to: "if (now >= this.#deadlineAt + 86_400_000) {",
    within: 15,
  },
  {
    name: "ended orders do not reduce the remaining quantity of a plan",
    file: "lib/desk/plan_caps.ts",
    from: 'if (isFinal(intent.state) && intent.state !== "filled") return intent.filled;',
    to: 'if (isFinal(intent.state)) return "0";',
    within: 15,
  },
  {
    name: "a plan stops without a reason",
    file: "lib/rebalance/execution/execution.ts",
    from: 'const reason = isDone ? undefined : this.#stop?.reason ?? "some trades could not be filled";',
    to: "const reason = undefined as string | undefined;",
    within: 15,
  },
];

/** Returns the first seed that fails, and its invariant; `undefined` if none fails. */
export async function find(mutation: Mutation): Promise<{ seed: number; invariant: string } | undefined> {
  await using copy = await copyTree(mutation);
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", `--config=${copy.path}/deno.json`, copy.main],
    stdout: "piped",
    stderr: "piped",
  }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  const text = new TextDecoder().decode(stdout).trim();
  return text === "" ? undefined : JSON.parse(text);
}

if (import.meta.main) {
  let survived = 0;
  for (const mutation of mutations) {
    if (Deno.args.length > 0 && !Deno.args.some((name) => mutation.name.includes(name))) continue;
    const found = await find(mutation);
    if (found === undefined) survived++;
    console.log(
      found === undefined
        ? `SURVIVED ${mutation.within} seeds: ${mutation.name}`
        : `seed ${found.seed} (${found.invariant}): ${mutation.name}`,
    );
  }
  Deno.exit(survived > 0 ? 1 : 0);
}
