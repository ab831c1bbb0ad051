// What comes in is checked by the schemas of its route. Bodies are taken as they are; queries and
// parameters come as text, and are read as what the schema says.

import type { TSchema } from 'typebox';
import { Compile, type Validator } from 'typebox/compile';
import { Value } from 'typebox/value';
import { Fault } from '../../support/fault.ts';
import { fromParsed } from '../../support/value.ts';
import { ProblemReply, type Route } from './route.ts';
import { ofMeantForm, type Part, sentenceOf, shortened } from './sentences.ts';

export interface Checks {
  readonly params: (given: unknown) => unknown;
  readonly query: (given: unknown) => unknown;
  readonly body: (given: unknown) => unknown;
}

const PROBLEMS_MAX = 5;
/** They are compared with each other, and few are told. */
const ERRORS_MAX = 100;

export function checksOf(route: Route): Checks {
  return {
    params: checkOf('params', route.params),
    query: checkOf('query', route.query),
    // A POST without a body is one that says nothing.
    body: route.takesBytes === true ? (given) => given : checkOf('body', route.body),
  };
}

/** Of a message that comes in an envelope. */
export function bodyCheckOf(schema: TSchema): (given: unknown) => unknown {
  return checkOf('body', schema);
}

function checkOf(part: Part, schema: TSchema | undefined): (given: unknown) => unknown {
  if (schema === undefined) return (given) => requireNothing(part, given);
  const validator = Compile(schema);
  if (part === 'body') return (given) => checked(part, validator, given ?? {});
  return (given) => checked(part, validator, Value.Convert(schema, given ?? {}));
}

function checked(part: Part, validator: Validator, given: unknown): unknown {
  if (validator.Check(given)) return given;
  const errors = ofMeantForm([...validator.Errors(given)].slice(0, ERRORS_MAX));
  const { properties = {} } = validator.Type() as { readonly properties?: object };
  const known = Object.keys(properties);
  const told = errors.flatMap((error) => sentenceOf(part, { ...error, known }, given) ?? []);
  const said = new Set(told.length > 0 ? told : [`The ${part} does not fit what this route takes`]);
  throw new ProblemReply(
    400,
    'invalid-input',
    `${[...said].slice(0, PROBLEMS_MAX).join('; ')}. Nothing was done.`,
  );
}

function requireNothing(part: Part, given: unknown): undefined {
  const names = typeof given === 'object' && given !== null ? Object.keys(given) : [];
  if (part !== 'params' && names.length > 0) {
    throw new ProblemReply(
      400,
      'invalid-input',
      `This route takes no ${part}; got ${names.slice(0, PROBLEMS_MAX).map(shortened).join(', ')}. Nothing was done.`,
    );
  }
  return undefined;
}

// Values of callers that have more than JSON: their tags are read in one place, before a route sees them.

const VALUES = ['input', 'value', 'defaults'] as const;

/** The body with its values as they were; without `tagged`, which routes need not know. */
export function withoutTags<Body>(body: Body): Body {
  if (typeof body !== 'object' || body === null || !('tagged' in body)) return body;
  const { tagged, ...rest } = body as Partial<Record<string, unknown>>;
  if (tagged !== true) return rest as Body;
  try {
    for (const name of VALUES) {
      if (Object.hasOwn(rest, name)) rest[name] = fromParsed(rest[name], true);
    }
  } catch (fault) {
    if (!(fault instanceof Fault)) throw fault;
    throw new ProblemReply(400, 'invalid-input', `${fault.message} Nothing was done.`);
  }
  return rest as Body;
}
