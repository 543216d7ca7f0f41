/**
 * Parses a `postgres://` URL strictly: an unknown parameter is an error, because an ignored setting could be a mistake.
 *
 * @module
 */
import { isLoopback } from "../loopback.ts";
import { StoreError } from "./store_error.ts";

/** Where a database is, and how to connect. */
export interface PostgresTarget {
  /** Host name, IP address, or the folder of a Unix socket. */
  host: string;
  port: number;
  database: string;
  user: string | undefined;
  password: string | undefined;
  /**
   * Absent for a connection without TLS. With TLS, the certificate is verified; `rootFile` is the certificate file of
   * the authority, if the URL names one.
   */
  tls: { rootFile?: string } | undefined;
  /** The schema of the tables. */
  schema: string;
  /** Name for messages: the URL without the password. */
  name: string;
}

const known = ["host", "port", "sslmode", "sslrootcert", "schema"];

/**
 * Returns whether the name of a store is a database URL and not a file name. Any text that looks like a URL counts as
 * one, because it may contain a password. {@linkcode readPostgresUrl} then rejects a wrong URL without showing it.
 */
export const isPostgresUrl = (store: string): boolean =>
  /^\s*(postgres(ql)?:|[a-z][a-z\d+.-]*:\/\/)|\bpassword\s*=/i.test(store);

/** Returns the URL without its password. Such a URL may be written to files and command lines. */
export function withoutPassword(text: string): string {
  const [, scheme = "", authority = "", rest = ""] = /^([a-z]+:\/\/)([^/?]*)(.*)$/s.exec(text) ?? [];
  const at = authority.lastIndexOf("@");
  return at < 0
    ? text
    : `${scheme}${authority.slice(0, at).replace(/:.*$/s, "")}${authority.slice(at)}${rest}`;
}

/**
 * Parses the URL. Connections to another machine use TLS with a checked certificate (`sslmode=verify-full`), unless the
 * URL says `sslmode=disable`; connections to this machine use no TLS, unless the URL says `verify-full`.
 *
 * @throws {StoreError} `no-access`; no message contains the password.
 */
export function readPostgresUrl(text: string): PostgresTarget {
  const refuse = (why: string): StoreError =>
    new StoreError(`Cannot read the URL of the store: ${why}`, { code: "no-access" });
  if (!/^postgres(ql)?:\/\//.test(text)) {
    throw refuse('it does not begin with "postgres://"; write postgres://user@host:5432/database');
  }
  // The URL parser accepts neither a percent-encoded socket folder as host nor an empty host after a user name.
  const [, folder] = /^postgres(?:ql)?:\/\/(?:[^@/?]*@)?(%2[fF][^/:?]*)/.exec(text) ?? [];
  const standard = text.replace(folder ?? "@/", folder === undefined ? "@localhost/" : "localhost");
  if (!URL.canParse(standard)) {
    throw refuse("it is not a valid URL; write postgres://user@host:5432/database");
  }
  const url = new URL(standard);
  const { searchParams } = url;
  const unknown = [...searchParams.keys()].find((key) => !known.includes(key));
  if (unknown !== undefined) {
    throw refuse(
      `it contains "${unknown}", which hsgate does not support; supported are ${known.join(", ")}`,
    );
  }
  const decode = (part: string) => {
    try {
      return part === "" ? undefined : decodeURIComponent(part);
    } catch {
      throw refuse('it contains a "%" that encodes no character; write "%25" for a percent sign');
    }
  };
  const host = searchParams.get("host") ?? decode(folder ?? "") ??
    decode(url.hostname.replace(/^\[|\]$/g, "")) ??
    "localhost";
  const port = Number(searchParams.get("port") ?? (url.port || 5432));
  if (!Number.isInteger(port) || port < 1 || port > 65_535) throw refuse("its port is not valid");
  const user = decode(url.username);
  const database = decode(url.pathname.slice(1)) ?? user;
  if (database === undefined || database.includes("/")) throw refuse("it names no database");
  const schema = searchParams.get("schema") ?? "hsgate";
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(schema)) {
    throw refuse("its schema may contain only lower-case letters, digits and underscores");
  }
  const isLocal = host.startsWith("/") || isLoopback(host);
  const mode = searchParams.get("sslmode") ?? (isLocal ? "disable" : "verify-full");
  if (mode !== "disable" && mode !== "verify-full") {
    throw refuse(
      `it says sslmode=${mode}, which does not verify the server; write verify-full, or disable for a network that ` +
        "nobody else can read",
    );
  }
  const rootFile = searchParams.get("sslrootcert") ?? undefined;
  if (rootFile !== undefined && mode === "disable") throw refuse("it contains sslrootcert, but no TLS");
  if (mode === "verify-full" && host.startsWith("/")) {
    throw refuse("it says verify-full, but a Unix socket has no TLS");
  }
  const at = host.startsWith("/") ? "" : host.includes(":") ? `[${host}]` : host;
  const name = `postgres://${user === undefined ? "" : `${encodeURIComponent(user)}@`}${at}${
    port === 5432 ? "" : `:${port}`
  }/${database}${host.startsWith("/") ? `?host=${host}` : ""}`;
  return {
    host,
    port,
    database,
    user,
    password: decode(url.password),
    tls: mode === "disable" ? undefined : { ...rootFile !== undefined && { rootFile } },
    schema,
    name: schema === "hsgate" ? name : `${name}${name.includes("?") ? "&" : "?"}schema=${schema}`,
  };
}
