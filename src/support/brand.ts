/** A value of type `Base` that only one place can make: mixing two brands does not compile. */
export type Brand<Base, Name extends string> = Base & { readonly __brand: Name };
