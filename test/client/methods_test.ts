/**
 * Checks that the written types of the client's methods have the answers of the catalogue's types and the same
 * parameters, and allow no value that the catalogue's types reject.
 */
import type { Client, DerivedMethods } from "../../lib/client/client.ts";
import type { Methods } from "../../lib/client/methods.ts";
import type { DerivedName } from "../../lib/operations/families.ts";
import type { OperationName, PushEvent } from "../../lib/operations/public_types.ts";
import type { DerivedPushEvent } from "../../lib/operations/pushes.ts";

type Same<A, B> = [A] extends [B] ? [B] extends [A] ? true : false : false;
type Args<M> = M extends (...args: infer A) => unknown ? Required<A> : never;
type Answer<M> = M extends (...args: never[]) => infer R ? R : never;
/** Whether the written parameters have the catalogue's members, and the catalogue accepts everything that they allow. */
type Fits<Written, Derived> = [Written] extends [Derived]
  ? Same<keyof Written, keyof Derived> extends true ? true : false
  : false;
/** Names of the methods whose two types differ. */
type Different = {
  [F in keyof DerivedMethods]: {
    [K in keyof DerivedMethods[F]]: K extends keyof Methods[F & keyof Methods]
      ? Fits<Args<Methods[F & keyof Methods][K]>, Args<DerivedMethods[F][K]>> extends true
        ? Same<Answer<DerivedMethods[F][K]>, Answer<Methods[F & keyof Methods][K]>> extends true ? never
        : `${F}.${K & string} answer`
      : `${F}.${K & string} params`
      : `${F}.${K & string} missing`;
  }[keyof DerivedMethods[F]];
}[keyof DerivedMethods];

const none: [Different] extends [never] ? true : Different = true;
const events: Same<PushEvent, DerivedPushEvent> = true;
const names: Same<OperationName, DerivedName> = true;
const families: Same<keyof Methods, keyof DerivedMethods> = true;

Deno.test("the types of the client's methods fit those of the catalogue", () => {
  void none;
  void events;
  void names;
  void families;
  void (undefined as unknown as Client);
});
