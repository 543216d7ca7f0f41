/**
 * Connects recipes to the broker that the recipe, the flags or the settings name, and identifies the account of each
 * connection.
 *
 * @module
 */
import { directAccount, gatewayAccount, gatewayPlace } from "../../../lib/client/account_name.ts";
import { type Client, createClient } from "../../../lib/client/client.ts";
import { directOptionsOf } from "../../../lib/client/connect_options.ts";
import { type Limits, limitsOf } from "../../../lib/client/limits.ts";
import { type LoadedSettings, SIMULATOR } from "../../../lib/client/load_settings.ts";
import type { Settings } from "../../../lib/client/settings.ts";
import { markPassword } from "../../../lib/runner/claims/password_mark.ts";
import type { CompiledRecipe } from "../../../lib/recipes/mod.ts";
import { shownAddress } from "../../../lib/transports/net/address.ts";
import type { FlagValues, sharedFlags } from "../../terminal/command.ts";
import { UsageError } from "../../terminal/exit_codes.ts";
import type { Host } from "../../terminal/host.ts";
import { clientOf, loadSettingsOf } from "../shared/session.ts";
import { readInstant, ShiftedClock } from "../../../lib/time.ts";

type Shared = FlagValues<typeof sharedFlags>;

/** The broker that a recipe connects to. */
export type Connection =
  | { to: "gateway"; url: string }
  | { to: "direct" }
  | { to: "simulator"; seed: number; at?: number };

/** Options of connections. */
interface ConnectionsOptions {
  /** Clock for a simulator whose recipe gives no time. @default the host's */
  now?: () => number;
  /** Reject every write. @default false */
  readOnly?: boolean;
}

/** A connected client, and how to disconnect it. */
interface Connected {
  client: Client;
  close(): Promise<void>;
}

/**
 * The connections of the recipes of this process. Each connection is made at its first use and kept for later runs. A
 * simulator runs in this process and ends with it.
 */
export class Connections implements AsyncDisposable {
  readonly #connected = new Map<string, Promise<Connected>>();
  readonly #clocks = new Map<string, { now(): number }>();
  readonly #noted = new Set<string>();
  /** Cache of password marks, because computing a mark is slow. */
  readonly #marks = new Map<string, string>();
  readonly #flags: Shared;
  readonly #host: Host;
  readonly #loaded: LoadedSettings;
  readonly #directAccount: string;
  readonly #options: ConnectionsOptions;
  #note: (line: string) => void;

  private constructor(
    flags: Shared,
    host: Host,
    { loaded, directAccount, ...options }: ConnectionsOptions & {
      loaded: LoadedSettings;
      directAccount: string;
    },
  ) {
    this.#flags = flags;
    this.#host = host;
    this.#loaded = loaded;
    this.#directAccount = directAccount;
    this.#options = options;
    this.#note = (line) => host.note(line);
  }

  /** The settings, without a recipe's own connection. */
  get settings(): Settings {
    return this.#loaded.settings;
  }

  /** Prints a line without damaging a progress display. */
  readonly note = (line: string): void => this.#note(line);

  /** Replaces the function that prints lines, for example with one that prints above a progress display. */
  noteWith(note: (line: string) => void): void {
    this.#note = note;
  }

  /** The limits of the settings. */
  get limits(): Limits {
    return limitsOf(this.#loaded.settings);
  }

  /** Loads the settings; does not connect. */
  static async open(flags: Shared, host: Host, options: ConnectionsOptions = {}): Promise<Connections> {
    const loaded = await loadSettingsOf(flags, host);
    return new Connections(flags, host, {
      ...options,
      loaded,
      directAccount: await directAccount(loaded.settings.developerPrivateKey),
    });
  }

  /**
   * Returns the broker that a recipe connects to. The recipe's own "connect" overrides the settings. If a flag
   * contradicts "connect", a person has to change one of them.
   *
   * @throws {UsageError} If recipe and flags contradict each other; nothing was sent.
   * @throws {InvalidParamsError} If settings of the direct transport are missing.
   */
  connectionOf(recipe: CompiledRecipe): Connection {
    const { connect } = recipe;
    const { settings } = this.#loaded;
    if (connect?.to === "simulator") {
      this.#refuse(recipe, ["gateway", "push", "auth-url", "transport"]);
      return { to: "simulator", seed: seedOf(recipe, connect.seed), ...timeOf(recipe, connect.at) };
    }
    const to = connect?.to ?? settings.transport;
    if (to === "direct") {
      if (connect !== undefined) this.#refuse(recipe, ["gateway", "push"], "gateway");
      directOptionsOf(settings); // throws if a setting is missing
      return { to: "direct" };
    }
    if (connect !== undefined) this.#refuse(recipe, ["auth-url"], "direct");
    const url = connect?.to === "gateway" ? connect.url : undefined;
    if (url === undefined) return { to: "gateway", url: settings.gatewayUrl };
    if (this.#flags.gateway !== undefined && gatewayPlace(this.#flags.gateway) !== gatewayPlace(url)) {
      this.#refuse(recipe, ["gateway"]);
    }
    this.#refuseLive(recipe, url);
    return { to: "gateway", url };
  }

  /**
   * Returns a name for the trade login of a recipe. In a store, runs that need the same trade login run one at a time.
   */
  readonly accountOf = (recipe: CompiledRecipe): string => {
    const connection = this.connectionOf(recipe);
    if (connection.to === "gateway") return gatewayAccount(connection.url);
    // A simulator belongs to this process, so runs of other processes need not wait for it.
    return connection.to === "direct" ? this.#directAccount : `${keyOf(connection)} of process ${Deno.pid}`;
  };

  /**
   * Returns a mark of the login passwords of a recipe: a digest that shows whether a password has changed. `undefined`
   * for a simulator, whose password never changes, and without a password.
   */
  readonly passwordMarkOf = (recipe: CompiledRecipe, salt: string): string | undefined => {
    const connection = this.connectionOf(recipe);
    if (connection.to === "simulator") return undefined;
    const { loginPassword, tradePassword } = this.#settingsFor(connection);
    const passwords = connection.to === "direct" ? [loginPassword, tradePassword] : [tradePassword];
    if (passwords.every((each) => each === undefined)) return undefined;
    const text = JSON.stringify(passwords);
    const known = this.#marks.get(salt + text);
    if (known !== undefined) return known;
    const mark = markPassword(text, salt);
    this.#marks.set(salt + text, mark);
    return mark;
  };

  /** Returns whether a login of a recipe ends every other login of its account. */
  readonly isSoleLogin = (recipe: CompiledRecipe): boolean => this.connectionOf(recipe).to === "direct";

  /** Returns the clock for the steps of a recipe if its simulator has its own clock. */
  readonly timeOf = (recipe: CompiledRecipe): (() => number) | undefined => {
    const connection = this.connectionOf(recipe);
    if (connection.to !== "simulator" || connection.at === undefined) return undefined;
    const clock = this.#clockOf(connection);
    return () => clock.now();
  };

  /** Returns the client of a recipe; after a failed connection, the next call connects again. */
  readonly of = async (recipe: CompiledRecipe): Promise<Client> => {
    const connection = this.connectionOf(recipe);
    const key = keyOf(connection);
    let connected = this.#connected.get(key);
    if (connected === undefined) {
      connected = connection.to === "simulator"
        ? this.#simulate(connection)
        : this.#connect(recipe, connection);
      connected.catch(() => this.#connected.delete(key));
      this.#connected.set(key, connected);
    }
    return (await connected).client;
  };

  /** Disconnects a recipe, so that its next use connects again. */
  async forget(recipe: CompiledRecipe): Promise<void> {
    const key = keyOf(this.connectionOf(recipe));
    const connected = this.#connected.get(key);
    this.#connected.delete(key);
    await (await connected)?.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const result of await Promise.allSettled(this.#connected.values())) {
      if (result.status === "fulfilled") await result.value.close();
    }
  }

  /**
   * Returns the settings for a connection. The trade password is only for the gateway that the settings name, by
   * default a gateway on this machine. Another gateway that a recipe names never gets it. If the settings use the
   * direct transport and name no gateway, no gateway gets it.
   */
  #settingsFor(connection: Exclude<Connection, { to: "simulator" }>): Settings {
    const own = { ...this.settings, transport: connection.to };
    if (connection.to === "direct") return own;
    const isOther = !this.#hasGateway() || gatewayPlace(own.gatewayUrl) !== gatewayPlace(connection.url);
    own.gatewayUrl = connection.url;
    if (isOther) own.tradePassword = own.tradePasswordKey = own.pushAddress = undefined;
    return own;
  }

  /** Returns whether the settings use a gateway, or name one. */
  #hasGateway(): boolean {
    return this.settings.transport === "gateway" || this.#loaded.origins.gatewayUrl !== "default";
  }

  async #connect(
    { name }: CompiledRecipe,
    connection: Exclude<Connection, { to: "simulator" }>,
  ): Promise<Connected> {
    const { origins, warnings } = this.#loaded;
    for (const warning of warnings) this.#noteOnce(`warning: ${warning}`);
    const own = this.#settingsFor(connection);
    if (connection.to === "gateway" && !this.#hasGateway()) {
      this.#noteOnce(
        `warning: recipe "${name}" connects to a gateway, and the settings use the direct transport and name no ` +
          "gateway: hsgate does not send the trade password; if the gateway is yours, set gatewayUrl",
      );
    } else if (
      own.gatewayUrl !== this.settings.gatewayUrl && own.tradePassword !== this.settings.tradePassword
    ) {
      this.#noteOnce(
        `warning: recipe "${name}" names ${
          shownAddress(own.gatewayUrl)
        }, but the trade password of the settings belongs to ` +
          `${
            shownAddress(this.settings.gatewayUrl)
          }: hsgate does not send it; if both are the same account, set gatewayUrl to the ` +
          "recipe's address",
      );
    }
    const loaded = { ...this.#loaded, settings: own, origins: { ...origins, gatewayUrl: "recipe" } };
    const host = { ...this.#host, note: (line: string) => this.#note(line) };
    const client = await clientOf(this.#flags, host, { command: `recipe ${name}`, loaded });
    // Over the gateway, a password is useless without its key.
    const canLogIn = connection.to === "direct" || own.tradePasswordKey !== undefined;
    const guarded = await this.#guarded(client, canLogIn ? own.tradePassword : undefined);
    return { client: guarded, close: () => guarded.close() };
  }

  async #simulate(connection: Extract<Connection, { to: "simulator" }>): Promise<Connected> {
    const [{ startGateway }, { connect }, { calendarsOf }] = await Promise.all([
      import("../../../lib/simulator/gateway/mod.ts"),
      import("../../../lib/client/connect.ts"),
      import("../../terminal/arguments.ts"),
    ]);
    const gateway = await startGateway({
      seed: connection.seed,
      clock: this.#clockOf(connection),
      calendars: calendarsOf(this.#host),
    });
    const { gatewayUrl, pushAddress, tradePassword, tradePasswordKey, clock } = gateway.info;
    this.#noteOnce(
      `connected to a simulated broker (seed ${connection.seed}, at ${clock}); nothing reaches a real one`,
    );
    const client = await connect({
      gateway: { url: gatewayUrl, push: pushAddress },
      tradePassword,
      tradePasswordKey,
    });
    const guarded = await this.#guarded(client, tradePassword);
    return {
      client: guarded,
      async close() {
        await guarded.close();
        await gateway.close();
      },
    };
  }

  async #guarded(client: Client, tradePassword: string | undefined): Promise<Client> {
    if (!this.#options.readOnly) return client;
    const { readOnly } = await import("../../../lib/transports/transport.ts");
    return createClient(readOnly(client.transport), tradePassword === undefined ? {} : { tradePassword });
  }

  #clockOf(connection: Extract<Connection, { to: "simulator" }>): { now(): number } {
    const key = keyOf(connection);
    let clock = this.#clocks.get(key);
    if (clock === undefined) {
      clock = new ShiftedClock(connection.at ?? (this.#options.now ?? this.#host.now)());
      this.#clocks.set(key, clock);
    }
    return clock;
  }

  /** Prints each text once. */
  #noteOnce(text: string): void {
    if (!this.#noted.has(text)) this.#note(`hsgate: ${text}`);
    this.#noted.add(text);
  }

  /** Rejects a live recipe that names another gateway while `liveTrading` comes from a simulator's settings. */
  #refuseLive({ name, file, live, class: kind }: CompiledRecipe, url: string): void {
    const { origins, settings } = this.#loaded;
    if (kind !== "write" || live !== true || origins.liveTrading !== SIMULATOR) return;
    if (gatewayPlace(settings.gatewayUrl) === gatewayPlace(url)) return;
    throw new UsageError(
      `Cannot connect recipe "${name}": the settings are those of a simulator, and the recipe names another gateway, ` +
        `"${shownAddress(url)}"; remove "connect" from ${file}, or set liveTrading yourself`,
    );
  }

  #refuse(
    { name, file, connect }: CompiledRecipe,
    flags: readonly ("gateway" | "push" | "auth-url" | "transport")[],
    otherWay?: "gateway" | "direct",
  ): void {
    const isOther = otherWay !== undefined && this.#flags.transport === otherWay;
    const flag = flags.find((each) => this.#flags[each] !== undefined) ?? (isOther ? "transport" : undefined);
    if (flag === undefined) return;
    const wish = connect?.to === "gateway" && connect.url !== undefined
      ? shownAddress(connect.url)
      : connect?.to;
    throw new UsageError(
      `Cannot connect recipe "${name}": it names "${wish}", and --${flag} contradicts that; remove the flag, or ` +
        `change "connect" in ${file}`,
    );
  }
}

function keyOf(connection: Connection): string {
  // Use the address and not the account, because two addresses may lead to one account but need separate connections.
  if (connection.to === "gateway") return gatewayPlace(connection.url);
  return connection.to === "direct" ? "direct" : `simulator ${connection.seed} ${connection.at ?? "now"}`;
}

function seedOf({ name }: CompiledRecipe, seed = 1): number {
  if (Number.isSafeInteger(seed) && seed >= 0 && seed <= 4_294_967_295) return seed;
  throw new UsageError(
    `Cannot simulate a broker for "${name}": its seed must be a whole number from 0 to 4294967295`,
  );
}

function timeOf({ name }: CompiledRecipe, at: string | undefined): { at?: number } {
  if (at === undefined) return {};
  const instant = readInstant(at);
  if (instant !== undefined) return { at: instant };
  throw new UsageError(
    `Cannot simulate a broker for "${name}" at "${at}": write a time with its offset, such as ` +
      "2025-08-15T10:00:00+08:00",
  );
}
