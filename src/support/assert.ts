import type { Code } from './codes/catalogue.ts';

/** Assertions stay on in production. The message starts with the invariant that would be broken. */
export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw new AssertionFault(message);
}

/** For a branch that the types rule out. */
export function unreachable(value: never): never {
  throw new AssertionFault(`unreachable: ${JSON.stringify(value)}`);
}

export class AssertionFault extends Error {
  override readonly name = 'AssertionFault';
  readonly code: Code = 'assertion-failed';
}

/** A value of type `Base` that only one place can create. Mixing two brands does not compile. */
export type Brand<Base, Name extends string> = Base & { readonly __brand: Name };
