// Checks requests against the schemas of their route. Bodies are taken as they are. Queries and
// parameters come as text and are converted as the schema demands.

import type { TSchema } from 'typebox';
import { Compile, type Validator } from 'typebox/compile';
import { Value } from 'typebox/value';
import { Fault } from '../../support/fault.ts';
import { nearestName } from '../../support/options.ts';
import { fromParsed } from '../../support/value.ts';
import { ProblemReply, type Route, type RouteCall } from './route.ts';

/** Checks a call. Throws `invalid-input` unless all parts fit the schemas of the route. */
export type CallCheck = (
  given: RouteCall<unknown, unknown, unknown>,
) => RouteCall<never, never, never>;

const PROBLEMS_MAX = 5;
/** Bounded, because the errors are compared with each other, and few are shown. */
const ERRORS_MAX = 100;

export function callCheckOf(route: Route): CallCheck {
  const params = checkOf('params', route.params);
  const query = checkOf('query', route.query);
  // A POST without a body counts as an empty object.
  const body = route.takesBytes === true ? (given: unknown) => given : checkOf('body', route.body);
  return (given) => {
    const checked: RouteCall<unknown, unknown, unknown> = {
      ...given,
      params: params(given.params),
      query: query(given.query),
      body: withoutTags(body(given.body)),
    };
    // Each handler's parts have the types of the schemas that they have just passed.
    return checked as RouteCall<never, never, never>;
  };
}

/** Checks the body of a message in an envelope. */
export function bodyCheckOf(schema: TSchema): (given: unknown) => unknown {
  return checkOf('body', schema);
}

function checkOf(part: Part, schema: TSchema | undefined): (given: unknown) => unknown {
  if (schema === undefined) return (given) => requireNothing(part, given);
  if (part === 'body') return (given) => checked(part, validatorOf(schema), given ?? {});
  return (given) => checked(part, validatorOf(schema), Value.Convert(schema, given ?? {}));
}

const validators = new WeakMap<TSchema, Validator>();

/** Compiles a schema when its first request comes: a process serves few of the routes at its start. */
function validatorOf(schema: TSchema): Validator {
  const known = validators.get(schema);
  if (known !== undefined) return known;
  const validator = Compile(schema);
  validators.set(schema, validator);
  return validator;
}

function checked(part: Part, validator: Validator, given: unknown): unknown {
  if (validator.Check(given)) return given;
  const errors = ofClosestForm([...validator.Errors(given)].slice(0, ERRORS_MAX));
  const { properties = {} } = validator.Type() as { readonly properties?: object };
  const known = Object.keys(properties);
  const sentences = errors.flatMap((error) => sentenceOf(part, { ...error, known }, given) ?? []);
  const problems = new Set(
    sentences.length > 0 ? sentences : [`The ${part} does not match the schema of this route`],
  );
  throw new ProblemReply(
    'invalid-input',
    `${[...problems].slice(0, PROBLEMS_MAX).join('; ')}. Nothing was done.`,
  );
}

function requireNothing(part: Part, given: unknown): undefined {
  const names = typeof given === 'object' && given !== null ? Object.keys(given) : [];
  if (part !== 'params' && names.length > 0) {
    throw new ProblemReply(
      'invalid-input',
      `This route takes no ${part}; got ${names.slice(0, PROBLEMS_MAX).map(shortened).join(', ')}. Nothing was done.`,
    );
  }
  return undefined;
}

// Decodes tagged values of callers in one place, before a route sees them.

const VALUES = ['input', 'value', 'defaults'] as const;

/** The body with its original values, and without `tagged`, which routes need not know. */
function withoutTags<Body>(body: Body): Body {
  if (typeof body !== 'object' || body === null || !('tagged' in body)) return body;
  const { tagged, ...rest } = body as Partial<Record<string, unknown>>;
  if (tagged !== true) return rest as Body;
  try {
    for (const name of VALUES) {
      if (Object.hasOwn(rest, name)) rest[name] = fromParsed(rest[name], true);
    }
  } catch (fault) {
    if (!(fault instanceof Fault)) throw fault;
    throw new ProblemReply('invalid-input', `${fault.message} Nothing was done.`);
  }
  return rest as Body;
}

// Turns a schema error into a sentence for people: the field, the expected value, and a likely
// correction. The schemas' patterns are for programs.

type Part = 'params' | 'query' | 'body';

/** The form of the validator's errors. */
interface SchemaError {
  readonly keyword: string;
  readonly instancePath: string;
  readonly schemaPath: string;
  readonly params: object;
  readonly message: string;
  /** The known names at the top level. */
  readonly known?: readonly string[];
}

interface Params {
  readonly pattern?: string;
  readonly allowedValue?: unknown;
  readonly allowedValues?: readonly unknown[];
  readonly additionalProperties?: readonly string[];
  readonly requiredProperties?: readonly string[];
  readonly type?: string;
  readonly limit?: number;
  readonly format?: string;
}

/** Descriptions of the patterns, for people. */
const FORMS: Readonly<Record<string, string>> = {
  '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$':
    'an id such as 01890a5d-ac96-774b-bcce-b302099a8057, whole and in small letters',
  '^([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|key:[\\s\\S]{1,256})$':
    'an id such as 01890a5d-ac96-774b-bcce-b302099a8057, whole and in small letters, or "key:" and a key',
  '^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$':
    'the name of a project: letters, digits, dots, dashes and underscores, at most 128, the first a letter or digit',
  '^[a-z2-7]{16}$':
    'the id of a key: the 16 letters and digits between hf_ and the next underscore, never the whole key',
  '^[0-9]{1,15}:[a-z2-7]{16}$': 'a cursor, as the page before gave it',
  '^[\\w.+:-]+$': 'the name of a release: letters, digits and . _ + : - only',
  '^[0-9a-f]{64}$': 'a SHA-256 digest: 64 hexadecimal digits in small letters',
};

const FORMATS: Readonly<Record<string, string>> = {
  'date-time': 'a time such as 2026-11-01T00:00:00Z',
};

const KINDS: Readonly<Record<string, string>> = {
  ...{ integer: 'a whole number', number: 'a number', string: 'text', boolean: 'true or false' },
  ...{ array: 'a list', object: 'an object', null: 'null' },
};

/**
 * If a word selects one of several forms, drops the errors of the other forms. If no form has that
 * word, the word itself is the error.
 */
function ofClosestForm<Error extends SchemaError>(errors: readonly Error[]): readonly Error[] {
  const wrongWords = errors.filter(({ keyword }) => keyword === 'const');
  const isOfOtherForm = ({ schemaPath, instancePath }: Error): boolean =>
    wrongWords.some(
      (word) =>
        `${schemaPath}/`.startsWith(formOf(word)) &&
        instancePath.startsWith(word.instancePath.replace(/\/[^/]*$/, '')),
    );
  const closest = errors.filter((error) => error.keyword !== 'anyOf' && !isOfOtherForm(error));
  if (closest.length > 0) return closest;
  return [...Map.groupBy(wrongWords, (word) => word.instancePath).values()].flatMap(
    ([first, ...others]) => {
      if (first === undefined) return [];
      const words = [first, ...others].map(({ params }) => (params as Params).allowedValue);
      return [{ ...first, keyword: 'enum', params: { allowedValues: words } }];
    },
  );
}

/** `#/…/anyOf/1/` of `#/…/anyOf/1/properties/verb`. */
function formOf({ schemaPath }: SchemaError): string {
  return `${schemaPath.replace(/\/properties\/[^/]*$/, '')}/`;
}

/** Undefined for an error that only repeats others, such as "no form matches". */
function sentenceOf(part: Part, error: SchemaError, given: unknown): string | undefined {
  const params = error.params as Params;
  const what = nameOf(part, error.instancePath);
  const value = valueAt(given, error.instancePath);
  switch (error.keyword) {
    case 'boolean':
    case 'const':
    case 'anyOf':
      return undefined;
    case 'pattern':
      return `${what} must be ${FORMS[params.pattern ?? ''] ?? 'of another form'}`;
    case 'enum':
      return `${what} must be one of ${listed(params.allowedValues ?? [])}${hint(params, value)}`;
    case 'type':
      return `${what} must be ${KINDS[params.type ?? ''] ?? params.type}`;
    case 'required':
      return `${what} must have ${listed(params.requiredProperties ?? [])}`;
    case 'additionalProperties':
      return `${what} has ${unknownNames(params.additionalProperties ?? [], error)}`;
    case 'format':
      return `${what} must be ${FORMATS[params.format ?? ''] ?? `a ${params.format}`}`;
    case 'minLength':
      return params.limit === 1 ? `${what} must not be empty` : plainly(what, error);
    default:
      return plainly(what, error);
  }
}

const UNKNOWN_MAX = 5;

function unknownNames(names: readonly string[], error: SchemaError): string {
  const listed = names.slice(0, UNKNOWN_MAX).map((name) => unknownIn(name, error));
  const more = names.length - listed.length;
  return `${listed.join(', ')}${more === 0 ? '' : ` and ${more} more`}`;
}

const SHOWN_MAX = 64;

/** A name in a request may be as long as a body. */
function shortened(name: string): string {
  return name.length > SHOWN_MAX ? `${name.slice(0, SHOWN_MAX)}…` : name;
}

/** Only the top level has a list of known names. */
function unknownIn(name: string, { known, instancePath }: SchemaError): string {
  const nearest = instancePath === '' ? nearestName(name, known ?? []) : undefined;
  return `an unknown ${shortened(name)}${nearest === undefined ? '' : ` (did you mean ${nearest}?)`}`;
}

function plainly(what: string, { message }: SchemaError): string {
  return `${what} ${message}`;
}

/** `/roles/0` of a body is roles[0]; in a query the index means nothing. */
function nameOf(part: Part, path: string): string {
  if (path === '') return part === 'params' ? 'The path' : `The ${part}`;
  const names = path.slice(1).split('/');
  return (part === 'query' ? names.slice(0, 1) : names)
    .map((name, nth) => {
      const short = shortened(name);
      return /^\d+$/.test(short) ? `[${short}]` : nth === 0 ? short : `.${short}`;
    })
    .join('');
}

function valueAt(given: unknown, path: string): unknown {
  const names = path === '' ? [] : path.slice(1).split('/');
  return names.reduce<unknown>(
    (found, name) => (found as Record<string, unknown> | null | undefined)?.[name],
    given,
  );
}

const LISTED_MAX = 20;

function listed(values: readonly unknown[]): string {
  const names = values.slice(0, LISTED_MAX).map(String).join(', ');
  return values.length > LISTED_MAX ? `${names}, …` : names;
}

function hint({ allowedValues = [] }: Params, value: unknown): string {
  if (typeof value !== 'string') return '';
  const nearest = nearestName(value, allowedValues.map(String));
  return nearest === undefined ? '' : ` (did you mean ${nearest}?)`;
}
