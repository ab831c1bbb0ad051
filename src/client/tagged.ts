// What a client sends has the types that it was given, as in an embedded engine: a Date arrives as a Date.

import { taggedOf, toText } from '../support/value.ts';

/** The body, with tags where a value of it needs them. Throws with the path of what cannot be sent. */
export function withTags<Body extends object>(what: string, body: Body, name: keyof Body): Body {
  const value = body[name];
  const isTagged = toText(what, value)?.tagged === true;
  return isTagged ? { ...body, [name]: taggedOf(value), tagged: true } : body;
}
