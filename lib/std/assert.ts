/**
 * Typed exports of the assertions of Deno std; names as in `@std/assert`.
 *
 * @module
 */
import { assert as rawAssert } from "deno-std/assert/assert.js";
import { assertEquals as rawAssertEquals } from "deno-std/assert/equals.js";
import { assertRejects as rawAssertRejects } from "deno-std/assert/rejects.js";
import { assertStringIncludes as rawAssertStringIncludes } from "deno-std/assert/string_includes.js";
import { assertThrows as rawAssertThrows } from "deno-std/assert/throws.js";

/** Class of an error, abstract ones included. */
// deno-lint-ignore no-explicit-any -- a constructor type has to accept every parameter list
type ErrorClass<E extends Error> = abstract new (...args: any[]) => E;

/** Fails unless the value is truthy. */
export const assert: (value: unknown, message?: string) => asserts value = rawAssert;

/** Fails unless both values are deeply equal. */
export const assertEquals: <T>(actual: T, expected: T, message?: string) => void = rawAssertEquals;

/** Fails unless the text contains the part. */
export const assertStringIncludes: (actual: string, expected: string, message?: string) => void =
  rawAssertStringIncludes;

/** Fails unless the call throws an error of the class whose message contains `messageIncludes`; returns the error. */
export const assertThrows: <E extends Error>(
  fn: () => unknown,
  errorClass: ErrorClass<E>,
  messageIncludes?: string,
) => E = rawAssertThrows;

/** Like {@linkcode assertThrows} for a function that returns a promise; resolves to the error. */
export const assertRejects: <E extends Error>(
  fn: () => PromiseLike<unknown> | Promise<PromiseLike<unknown>>,
  errorClass: ErrorClass<E>,
  messageIncludes?: string,
) => Promise<E> = rawAssertRejects;
