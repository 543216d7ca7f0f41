/**
 * Simulates the connections of a world: in-memory pipes with the methods of `Deno.TcpConn`, and listeners.
 *
 * Bytes arrive in order, after a latency. A fault can prevent a connection, cut it after some bytes, or affect the
 * bytes of one direction: lose them, delay them, or deliver each chunk twice. When a process dies, its machine closes
 * its connections.
 *
 * @module
 */
import { currentProcess, forever, type Process, type World } from "./world.ts";

/** A fault of the next connection to a listener. */
export interface PipeFault {
  /**
   * `cut`: reset after `bytes`. `half-open`: the bytes are lost. `slow`: bytes arrive `ms` later. `doubled`: each chunk
   * arrives twice. `refused` and `unanswered`: the connection is never made.
   */
  kind: "cut" | "half-open" | "slow" | "doubled" | "refused" | "unanswered";
  /** Whether the fault affects the bytes to the client, and not the bytes to the listener. */
  toClient: boolean;
  bytes: number;
  ms: number;
}

const LATENCY_MS = 3;

/** The network of a world. */
export class Network {
  readonly world: World;
  readonly #listeners = new Map<number, Listener>();
  #nextPort = 20_000;
  #clientPort = 40_000;
  /** Returns the fault of a new connection; `undefined` for a connection without one. */
  faultOf: (port: number) => PipeFault | undefined = () => undefined;
  /** The open ends of all connections. */
  readonly pipes = new Set<Pipe>();

  constructor(world: World) {
    this.world = world;
  }

  /** Returns an unused port for a client. */
  clientPort(): number {
    this.#clientPort = this.#clientPort >= 60_000 ? 40_000 : this.#clientPort + 1;
    return this.#clientPort;
  }

  /** Opens a port, like `Deno.listen`. */
  listen({ port = 0, hostname = "127.0.0.1" }: { port?: number; hostname?: string }): Listener {
    const process = currentProcess()!; // only code in a process reaches this
    const own = port === 0 ? ++this.#nextPort : port;
    if (this.#listeners.has(own)) throw new Deno.errors.AddrInUse(`port ${own} is in use`);
    const listener = new Listener(process, { transport: "tcp", hostname, port: own }, () => {
      this.#listeners.delete(own);
    });
    this.#listeners.set(own, listener);
    return listener;
  }

  /** Connects, like `Deno.connect`. */
  connect(
    { port, hostname = "127.0.0.1", signal }: { port: number; hostname?: string; signal?: AbortSignal },
  ): Promise<Pipe> {
    const client = currentProcess()!; // only code in a process reaches this
    if (!client.isAlive) return forever();
    const fault = this.faultOf(port);
    return new Promise((resolve, reject) => {
      const refuse = () => reject(new Deno.errors.ConnectionRefused("Connection refused (os error 111)"));
      const stop = () => {
        cancel();
        reject(signal!.reason); // only an abort of the signal calls this
      };
      if (signal?.aborted) return reject(signal.reason);
      signal?.addEventListener("abort", stop, { once: true });
      const cancel = client.after(LATENCY_MS, () => {
        signal?.removeEventListener("abort", stop);
        const listener = this.#listeners.get(port);
        if (fault?.kind === "unanswered") {
          signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
          return;
        }
        if (listener === undefined || !listener.process.isAlive || fault?.kind === "refused") return refuse();
        const [own, other] = pipePair(this, { client, server: listener.process, port, hostname });
        if (fault !== undefined) (fault.toClient ? other : own).fault = { ...fault };
        listener.offer(other);
        resolve(own);
      }, "connect");
    });
  }
}

/** A port that accepts connections. */
class Listener implements AsyncIterable<Pipe> {
  readonly #waiting: Pipe[] = [];
  readonly #accepts: PromiseWithResolvers<Pipe>[] = [];
  readonly #atClose: () => void;
  #isOpen = true;

  constructor(readonly process: Process, readonly addr: Deno.NetAddr, atClose: () => void) {
    this.#atClose = atClose;
    process.atDeath.add(atClose);
  }

  offer(pipe: Pipe): void {
    this.process.world.schedule(this.process.world.now, this.process, "accept", () => {
      const next = this.#accepts.shift();
      if (next === undefined) this.#waiting.push(pipe);
      else next.resolve(pipe);
    });
  }

  accept(): Promise<Pipe> {
    if (!this.process.isAlive) return forever();
    if (!this.#isOpen) return Promise.reject(new Deno.errors.BadResource("Listener has been closed"));
    const pipe = this.#waiting.shift();
    if (pipe !== undefined) return Promise.resolve(pipe);
    const next = Promise.withResolvers<Pipe>();
    this.#accepts.push(next);
    return next.promise;
  }

  close(): void {
    if (!this.#isOpen) throw new Deno.errors.BadResource("Listener has been closed");
    this.#isOpen = false;
    this.#atClose();
    this.process.atDeath.delete(this.#atClose);
    for (const next of this.#accepts) next.reject(new Deno.errors.BadResource("Listener has been closed"));
  }

  ref(): void {}
  unref(): void {}

  async *[Symbol.asyncIterator](): AsyncIterator<Pipe> {
    for (;;) yield await this.accept();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

/** One end of a connection. */
export class Pipe {
  readonly remoteAddr: Deno.NetAddr;
  readonly localAddr: Deno.NetAddr;
  /** The fault of the bytes that this end writes. */
  fault: PipeFault | undefined;
  /** The other end. */
  peer!: Pipe;
  /** When this end was opened. */
  readonly openedAt: number;
  readonly #network: Network;
  readonly #arrived: Uint8Array[] = [];
  #reading: { buffer: Uint8Array; done: PromiseWithResolvers<number | null> } | undefined;
  #isOpen = true;
  #hasEnded = false;
  #isReset = false;
  #hasClosedWrite = false;
  #lastAt = 0;
  #sent = 0;
  readonly #atDeath = () => this.#end();

  constructor(network: Network, readonly process: Process, addresses: { local: number; remote: number }) {
    this.#network = network;
    this.openedAt = network.world.now;
    const addr = (port: number): Deno.NetAddr => ({ transport: "tcp", hostname: "127.0.0.1", port });
    this.localAddr = addr(addresses.local);
    this.remoteAddr = addr(addresses.remote);
    network.pipes.add(this);
    process.atDeath.add(this.#atDeath);
  }

  read(buffer: Uint8Array): Promise<number | null> {
    if (!this.process.isAlive) return forever();
    if (!this.#isOpen) return Promise.reject(new Deno.errors.BadResource("Bad resource ID"));
    if (this.#arrived.length > 0) return Promise.resolve(this.#take(buffer));
    if (this.#isReset) return Promise.reject(new Deno.errors.ConnectionReset("Connection reset by peer"));
    if (this.#hasEnded) return Promise.resolve(null);
    const done = Promise.withResolvers<number | null>();
    this.#reading = { buffer, done };
    return done.promise;
  }

  write(bytes: Uint8Array): Promise<number> {
    if (!this.process.isAlive) return forever();
    if (!this.#isOpen) return Promise.reject(new Deno.errors.BadResource("Bad resource ID"));
    if (this.#isReset) return Promise.reject(new Deno.errors.ConnectionReset("Connection reset by peer"));
    if (this.#hasClosedWrite) return Promise.reject(new Deno.errors.BrokenPipe("Broken pipe"));
    let chunk = bytes.slice();
    const { fault } = this;
    let delay = 0;
    if (fault?.kind === "slow") delay = fault.ms;
    if (fault?.kind === "half-open") return Promise.resolve(bytes.length);
    if (fault?.kind === "cut") {
      const left = fault.bytes - this.#sent;
      if (left <= chunk.length) {
        chunk = chunk.slice(0, Math.max(0, left));
        this.#sent += bytes.length;
        if (chunk.length > 0) this.#send(chunk, delay);
        this.#after(delay, "reset", () => this.peer.#reset());
        this.#network.world.schedule(this.#lastAt, this.process, "reset", () => this.#reset());
        return Promise.resolve(bytes.length);
      }
    }
    this.#sent += chunk.length;
    this.#send(chunk, delay);
    if (fault?.kind === "doubled") this.#send(chunk, delay);
    return Promise.resolve(bytes.length);
  }

  close(): void {
    if (!this.#isOpen) throw new Deno.errors.BadResource("Bad resource ID");
    this.#end();
    this.process.atDeath.delete(this.#atDeath);
    const reading = this.#reading;
    this.#reading = undefined;
    reading?.done.reject(new Deno.errors.BadResource("Bad resource ID"));
  }

  closeWrite(): Promise<void> {
    if (!this.#hasClosedWrite) this.#after(0, "end", () => this.peer.#finish());
    this.#hasClosedWrite = true;
    return Promise.resolve();
  }

  setNoDelay(): void {}
  setKeepAlive(): void {}
  ref(): void {}
  unref(): void {}

  [Symbol.dispose](): void {
    if (this.#isOpen) this.close();
  }

  #end(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#network.pipes.delete(this);
    // If the other end has already closed its side, it does not notice that this end closes.
    if (this.fault?.kind !== "half-open" && this.peer.#isOpen) {
      this.#after(0, "end", () => this.peer.#finish());
    }
  }

  #send(chunk: Uint8Array, delayMs: number): void {
    this.#after(delayMs, `bytes ${this.localAddr.port}>${this.remoteAddr.port} ${chunk.length}`, () => {
      const { peer } = this;
      if (!peer.#isOpen || peer.#isReset) return;
      peer.#arrived.push(chunk);
      peer.#wake();
    });
  }

  /** Runs an action at the other end, after everything that was sent before has arrived. */
  #after(delayMs: number, what: string, run: () => void): void {
    const { world } = this.#network;
    const latency = 1 + Math.floor(world.random() * LATENCY_MS);
    this.#lastAt = Math.max(this.#lastAt, world.now + latency + delayMs);
    world.schedule(this.#lastAt, this.peer.process, what, run);
  }

  #finish(): void {
    this.#hasEnded = true;
    this.#wake();
  }

  #reset(): void {
    if (!this.#isOpen) return;
    this.#isReset = true;
    this.#wake();
  }

  #wake(): void {
    const reading = this.#reading;
    if (reading === undefined) return;
    this.#reading = undefined;
    if (this.#arrived.length > 0) reading.done.resolve(this.#take(reading.buffer));
    else if (this.#isReset) reading.done.reject(new Deno.errors.ConnectionReset("Connection reset by peer"));
    else reading.done.resolve(null);
  }

  #take(buffer: Uint8Array): number {
    const chunk = this.#arrived[0]!;
    const count = Math.min(buffer.length, chunk.length);
    buffer.set(chunk.subarray(0, count));
    if (count === chunk.length) this.#arrived.shift();
    else this.#arrived[0] = chunk.subarray(count);
    return count;
  }
}

function pipePair(
  network: Network,
  { client, server, port }: { client: Process; server: Process; port: number; hostname: string },
): [Pipe, Pipe] {
  const local = network.clientPort();
  const own = new Pipe(network, client, { local, remote: port });
  const other = new Pipe(network, server, { local: port, remote: local });
  own.peer = other;
  other.peer = own;
  return [own, other];
}
