/**
 * Replaces clocks, timers, random numbers, sockets and files for code that runs in a process of a world. Code outside
 * of every process, such as the program that runs the world, keeps the real ones.
 *
 * Packages that use these globals get the virtual ones, too. So no process can reach the real time, the real network or
 * real randomness. If code of the world calls such a function, and its process is unknown, `world.leaks` records the
 * call. `Date` is an exception: it then returns the real time, and nothing is recorded.
 *
 * @module
 */
import { nodeCrypto } from "../std/node_crypto.ts";
import { currentProcess, forever, type Process, type World } from "./world.ts";
import type { Network } from "./pipes.ts";
import { encryptWith, sign, verify } from "./rsa.ts";

// deno-lint-ignore no-explicit-any -- the replaced functions have many shapes
type Any = any;

/** Functions of the file system that are replaced by their synchronous versions, which take no virtual time. */
const files = [
  "readTextFile",
  "readFile",
  "writeTextFile",
  "writeFile",
  "mkdir",
  "remove",
  "stat",
  "lstat",
  "rename",
  "realPath",
  "chmod",
  "makeTempDir",
  "makeTempFile",
  "copyFile",
  "readLink",
  "truncate",
] as const;

/** Functions of the file system that take real time, and that no program in a world needs. */
const slowFiles = ["open", "create", "readDir", "link", "symlink", "utime", "chown", "watchFs", "resolveDns"];

/** Functions of Web Crypto. Their results arrive in the order of the calls. */
const subtle = Object.keys(Object.getOwnPropertyDescriptors(SubtleCrypto.prototype)).filter((name) =>
  typeof (crypto.subtle as Any)[name] === "function" && name !== "constructor"
);

/** Replaces the ambient functions while a world runs. Dispose it afterwards. */
export function ambient(world: World, network: Network): Disposable {
  const undo: (() => void)[] = [];
  /** The process of the caller; `undefined` for code outside of the world. */
  const caller = (what: string): Process | undefined => {
    const process = currentProcess();
    if (process === undefined && world.isStepping) world.leaks.push(what);
    return process;
  };
  const replace = (on: Any, name: string, make: (original: Any) => Any) => {
    const described = Object.getOwnPropertyDescriptor(on, name);
    const original = on[name];
    Object.defineProperty(on, name, {
      configurable: true,
      writable: true,
      enumerable: described?.enumerable ?? true,
      value: make(original),
    });
    undo.push(() => {
      if (described === undefined) delete on[name];
      else Object.defineProperty(on, name, described);
    });
  };
  /** Replaces a function of the runtime. */
  const plain = (on: Any, name: string, own: (process: Process, ...args: Any[]) => Any) =>
    replace(on, name, (original) =>
      function (this: Any, ...args: Any[]) {
        const process = caller(name);
        return process === undefined ? original.apply(this ?? on, args) : own(process, ...args);
      });

  const RealDate = Date;
  replace(globalThis, "Date", () => {
    const VirtualDate = function (this: Any, ...args: Any[]): Any {
      if (new.target === VirtualDate && args.length === 1) return new RealDate(args[0]); // the most frequent use
      const process = currentProcess();
      if (!new.target) return new RealDate(process?.now() ?? RealDate.now()).toString();
      const given = args.length === 0 && process !== undefined ? [process.now()] : args;
      return Reflect.construct(RealDate, given, new.target === VirtualDate ? RealDate : new.target);
    } as Any;
    Object.setPrototypeOf(VirtualDate, RealDate);
    VirtualDate.prototype = RealDate.prototype;
    VirtualDate.now = () => currentProcess()?.now() ?? RealDate.now();
    return VirtualDate;
  });
  plain(Math, "random", (process) => process.random());
  plain(performance, "now", () => world.now);
  plain(crypto, "randomUUID", (process) => process.id());
  plain(crypto, "getRandomValues", (process, bytes: Any) => {
    const view = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    for (let at = 0; at < view.length; at++) view[at] = Math.floor(process.random() * 256);
    return bytes;
  });

  const timers = new Map<number, () => void>();
  let lastTimer = 1_000_000_000;
  const timeout = (process: Process, work: (...args: Any[]) => void, ms = 0, ...args: Any[]) => {
    const id = ++lastTimer;
    timers.set(
      id,
      process.after(ms, () => {
        timers.delete(id);
        work(...args);
      }),
    );
    return id;
  };
  plain(globalThis, "setTimeout", timeout);
  plain(globalThis, "setImmediate", (process, work, ...args) => timeout(process, work, 0, ...args));
  plain(globalThis, "setInterval", (process, work: (...args: Any[]) => void, ms = 0, ...args: Any[]) => {
    const id = ++lastTimer;
    const again = () => {
      timers.set(
        id,
        process.after(Math.max(1, ms), () => {
          again();
          work(...args);
        }),
      );
    };
    again();
    return id;
  });
  for (const name of ["clearTimeout", "clearInterval", "clearImmediate"]) {
    replace(globalThis, name, (original) =>
      function (this: Any, id?: Any) {
        const cancel = timers.get(id);
        if (cancel === undefined) {
          // The id of a timer of this world that has fired, or of a timer of the program outside the world.
          return typeof id === "number" && id > 1_000_000_000 ? undefined : original.call(globalThis, id);
        }
        timers.delete(id);
        cancel();
      });
  }
  plain(AbortSignal, "timeout", (process, ms: number) => {
    const controller = new AbortController();
    // The runtime's own timer does not keep a program running, so the world does not count this timer either.
    process.world.schedule(
      process.world.now + Math.trunc(ms),
      process,
      "timeout",
      () => controller.abort(new DOMException("Signal timed out.", "TimeoutError")),
    );
    return controller.signal;
  });

  plain(Deno, "connect", (_process, options) => network.connect(options));
  plain(Deno, "listen", (_process, options) => network.listen(options));
  for (const name of ["connectTls", "startTls"]) {
    plain(Deno, name, () => Promise.reject(new Deno.errors.ConnectionRefused(`${name}: no such machine`)));
  }
  plain(globalThis, "fetch", () => Promise.reject(new TypeError("fetch: a world has no such machine")));
  for (const name of files) {
    const sync = (Deno as Any)[`${name}Sync`];
    // Async, so that an error becomes a rejection.
    plain(
      Deno,
      name,
      // deno-lint-ignore require-await
      (process, ...args) => process.isAlive ? (async () => sync(...args))() : forever(),
    );
  }
  for (const name of slowFiles) {
    plain(Deno, name, () => {
      world.leaks.push(`Deno.${name}`);
      throw new Deno.errors.NotSupported(`Cannot use Deno.${name} in a world: it takes real time`);
    });
  }
  const rsa = nodeCrypto();
  replace(rsa, "publicEncrypt", (original) => (key: Any, plain: Uint8Array) => {
    const process = caller("publicEncrypt");
    return process === undefined ? original(key, plain) : encryptWith(process.random, original, key, plain);
  });
  plain(rsa, "sign", (_process, algorithm, text, key) => sign(algorithm, text, key));
  plain(
    rsa,
    "verify",
    (_process, algorithm, text, key, signature) => verify(algorithm, text, key, signature),
  );
  for (const name of subtle) {
    replace(crypto.subtle, name, (original) => (...args: Any[]) => {
      const process = caller(`subtle.${name}`);
      const work = original.apply(crypto.subtle, args);
      return process === undefined ? work : world.real(work);
    });
  }
  return {
    [Symbol.dispose]() {
      for (const each of undo.reverse()) each();
    },
  };
}
