/**
 * Typed exports of the ULIDs of Deno std; names as in `@std/ulid`.
 *
 * @module
 */
import { ulid as rawUlid } from "deno-std/ulid/ulid.js";

/** Makes an id of 26 letters and digits. Ids sort by the time `seedTime`, Unix milliseconds. */
export const ulid: (seedTime?: number) => string = rawUlid;
