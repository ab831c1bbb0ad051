// Builds the OpenAPI 3.1 description from the routes alone. Their schemas are already JSON Schema,
// so the description equals the checks.

import { type TSchema, Type } from 'typebox';
import type { Code } from '../../support/codes/catalogue.ts';
import { DOWNLOAD, type DocumentedResponse, type Operations, TAGS } from '../messages/operation.ts';
import { problem } from '../messages/problem.ts';
import { BASE } from '../messages/words.ts';
import { etagOf, matchesEtag } from './handling.ts';
import { problemOf } from './problems.ts';
import { type Route, routesOf } from './route.ts';

interface CommonProblem {
  readonly what: string;
  readonly codes: readonly Code[];
}

/** Problems that any operation may return. */
const COMMON: Readonly<Record<string, CommonProblem>> = {
  400: {
    what: 'The request is not valid JSON or does not match its schema. Nothing was written.',
    codes: ['invalid-input'],
  },
  401: {
    what: 'The request has no access key, or the key is unknown, expired or revoked.',
    codes: ['key-required'],
  },
  403: {
    what: 'The key lacks the required role, or it does not open this project.',
    codes: ['role-missing', 'project-denied', 'name-reserved', 'foreign-page', 'foreign-host'],
  },
  404: {
    what: 'The resource does not exist in this project.',
    codes: ['not-found', 'project-unknown', 'route-unknown', 'admin-off', 'admin-elsewhere'],
  },
  413: { what: 'The body is larger than this operation accepts.', codes: ['payload-too-large'] },
  415: { what: 'The body has a content type that is not accepted.', codes: ['type-unknown'] },
  429: {
    what: 'The caller sent too many requests, holds too many open, or reached a quota. `retry-after` gives the wait in seconds.',
    codes: ['over-rate', 'too-many-open', 'over-quota'],
  },
  500: { what: 'The coordinator failed. Its log has the cause.', codes: ['fault'] },
  503: {
    what: 'The coordinator cannot reach its store, or the store is sealed. After `outcome-unknown`, the write may have happened.',
    codes: ['store-unavailable', 'outcome-unknown', 'store-sealed'],
  },
};

export function openapiOf(routes: readonly Route[], version: string): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const route of routes) {
    const path = route.path.replace(/:(\w+)/g, '{$1}');
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationOf(route) };
  }
  const components = {
    parameters: { Project: PROJECT },
    responses: Object.fromEntries(
      Object.entries(COMMON).map(([status, common]) => [
        `Problem${status}`,
        problemResponse(Number(status), common),
      ]),
    ),
    securitySchemes: {
      key: { type: 'http', scheme: 'bearer', description: 'An access key: `hf_…`.' },
    },
  };
  const writer = new SchemaWriter();
  const document = writer.write({
    openapi: '3.1.0',
    info: {
      title: 'Holdfast',
      version,
      description:
        'The HTTP API of a Holdfast coordinator. Send an access key as a bearer token. Problems are `application/problem+json` (RFC 9457) with a stable `code`. Times are UTC. Lists return pages: pass the `cursor` of a page to read the next one.',
    },
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths,
    components,
  }) as { readonly components: object };
  const schemas = Object.fromEntries([...writer.components].sort());
  return { ...document, components: { schemas, ...document.components } };
}

/** Writes schemas. A schema with a title is written once, and each use refers to it. */
class SchemaWriter {
  readonly components: Map<string, object> = new Map();
  readonly #titled: Map<string, Schema> = new Map();

  write(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((each) => this.write(each));
    if (typeof value !== 'object' || value === null) return value;
    return isSchema(value) ? this.#schema(value) : this.#entries(value);
  }

  #schema(schema: Schema): object {
    const { title, description } = schema;
    if (title === undefined) return this.#inline(schema);
    const { [BASE]: base = schema } = schema;
    const known = this.#titled.get(title) ?? base;
    if (shapeOf(known) !== shapeOf(base)) {
      throw new TypeError(`Two schemas have the title ${title}. Give one of them another title.`);
    }
    if (!this.#titled.has(title)) {
      this.#titled.set(title, base);
      this.components.set(title, this.#inline(base));
    }
    const own = description === base.description ? {} : { description };
    return { $ref: `#/components/schemas/${title}`, ...own };
  }

  /** Examples of objects are with the requests and responses. */
  #inline({ title: _, description, examples, ...rest }: Schema): object {
    const isScalar = ['string', 'integer', 'number'].includes(rest.type ?? '');
    return {
      ...(description === undefined ? {} : { description }),
      ...this.#entries(rest),
      ...(isScalar && examples !== undefined ? { examples } : {}),
    };
  }

  #entries(value: object): object {
    return Object.fromEntries(
      Object.entries(value).map(([name, each]) => [name, this.write(each)]),
    );
  }
}

interface Schema {
  readonly title?: string;
  readonly description?: string;
  readonly examples?: unknown;
  readonly type?: string;
  readonly properties?: object;
  readonly enum?: readonly unknown[];
  readonly [BASE]?: Schema;
}

/** Enough to notice that one title names two schemas. */
function shapeOf({ type, properties = {}, enum: values = [] }: Schema): string {
  return [type, ...Object.keys(properties), ...values].join();
}

function isSchema(value: object): value is Schema {
  return '~kind' in value;
}

function operationOf(route: Route): object {
  const { name, tag, summary, allows, needs, body, takesBytes } = route;
  const isPublic = allows === 'public';
  return {
    operationId: name,
    tags: [tag],
    summary,
    description: descriptionOf(route),
    ...(isPublic ? { security: [] } : { security: [{ key: [] }], 'x-roles': allows }),
    ...(needs && { 'x-needs-roles': needs }),
    ...(route.listener === undefined ? {} : { 'x-listener': route.listener }),
    parameters: [
      ...parametersOf('path', route.params),
      ...parametersOf('query', route.query),
      ...(isPublic ? [] : [{ $ref: '#/components/parameters/Project' }]),
    ],
    ...(body === undefined && takesBytes !== true ? {} : { requestBody: requestBodyOf(route) }),
    responses: responsesOf(route),
  };
}

/** The sentences of the table, and those that follow from its other columns. */
function descriptionOf(route: Route): string {
  const { description, method, responses } = route;
  const refusals = Object.entries(responses).flatMap(([status, { codes = [] }]) => {
    const own = codes.filter((code) => COMMON[status]?.codes.includes(code) !== true);
    return own.length === 0 ? [] : [`${codesOf(own)} (${status})`];
  });
  return [
    description,
    ...(method === 'GET' ? ['Writes nothing.'] : []),
    accessOf(route),
    ...(refusals.length === 0 ? [] : [`Refusals: ${refusals.join(', ')}.`]),
  ].join(' ');
}

function accessOf({ allows, needs = [], listener }: Route): string {
  if (allows === 'public') return 'Requires no access key.';
  const [last = '', ...others] = [...allows].reverse();
  const either =
    others.length === 0 ? codesOf([last]) : `${codesOf(others.reverse())} or ${codesOf([last])}`;
  const roles = [either, ...needs.map((role) => codesOf([role]))];
  const where = listener === 'admin' ? ' The coordinator must serve admin routes (`--admin`).' : '';
  return `Requires an access key with role ${roles.join(' and ')}.${where}`;
}

function codesOf(codes: readonly string[]): string {
  return codes.map((code) => `\`${code}\``).join(', ');
}

const PROJECT = {
  name: 'holdfast-project',
  in: 'header',
  required: false,
  description: 'The project, for keys that open all projects. Default: `default`.',
  schema: { type: 'string' },
  example: 'default',
};

interface ObjectSchema {
  readonly properties?: Readonly<Record<string, TSchema>>;
  readonly required?: readonly string[];
}

function parametersOf(where: 'path' | 'query', schema: TSchema | undefined): readonly object[] {
  const { properties = {}, required = [] } = (schema ?? {}) as ObjectSchema;
  return Object.entries(properties).map(([name, each]) => {
    const { description } = each as Schema;
    return {
      ...{ name, in: where, required: required.includes(name) },
      ...(description === undefined ? {} : { description }),
      ...{ schema: undescribed(each), example: exampleOf(each) },
    };
  });
}

/** The parameter has the description of its schema. */
function undescribed(schema: TSchema): object {
  const { title, [BASE]: base } = schema as Schema;
  if (title !== undefined) return base ?? schema;
  const { description: _, examples: __, ...rest } = schema as Schema;
  return rest;
}

function requestBodyOf({ body, takesBytes }: Route): object {
  if (takesBytes === true) return { required: true, content: textContent(DOWNLOAD) };
  const { required = [] } = (body ?? {}) as ObjectSchema;
  return { required: required.length > 0, content: jsonContent(body as TSchema) };
}

function responsesOf(route: Route): object {
  const own = Object.entries(route.responses).map(([status, answer]) => {
    const { what, schema, text, codes = [] } = answer;
    if (Number(status) >= 400) return [status, problemResponse(Number(status), { what, codes })];
    const content = text ? textContent(text) : schema && jsonContent(schema);
    return [status, { description: what, ...(content && { content }) }];
  });
  const common = Object.entries(COMMON)
    .filter(([status]) => mayRespond(route, Number(status)))
    .map(([status]) => [status, { $ref: `#/components/responses/Problem${status}` }]);
  return { ...Object.fromEntries(common), ...Object.fromEntries(own) };
}

function mayRespond({ allows, params, query, body, takesBytes }: Route, status: number): boolean {
  if (status === 401 || status === 403) return allows !== 'public';
  if (status === 404) return params !== undefined || allows !== 'public';
  if (status === 413 || status === 415) return body !== undefined || takesBytes === true;
  return status !== 400 || [params, query, body].some((each) => each !== undefined);
}

/** Codes that the description names for a status of this route, its own and the common ones. */
export function documentedCodes({ responses }: Route, status: number): readonly string[] {
  return [...(responses[status]?.codes ?? []), ...(COMMON[status]?.codes ?? [])];
}

function jsonContent(schema: TSchema): object {
  return { 'application/json': { schema, example: exampleOf(schema) } };
}

function textContent({ type, example }: NonNullable<DocumentedResponse['text']>): object {
  return { [type]: { schema: { type: 'string' }, example } };
}

function problemResponse(status: number, { what, codes }: CommonProblem): object {
  const example = problemOf(codes[0] ?? 'invalid-input', what, status);
  return {
    description:
      codes.length === 0
        ? what
        : `${what} ${codes.length === 1 ? 'Code' : 'Codes'}: ${codesOf(codes)}.`,
    content: { 'application/problem+json': { schema: problem, example } },
  };
}

// The route that serves the description.

/** The version of the API. It changes when something disappears or changes its meaning. */
export const API_VERSION = '1';

interface Built {
  readonly bytes: Buffer;
  readonly etag: string;
}

const apiDescription = Type.Object(
  {
    openapi: Type.String({ description: 'Version of OpenAPI.', examples: ['3.1.0'] }),
    info: Type.Object(
      {
        title: Type.String({ description: 'Name of the API.' }),
        version: Type.String({ description: 'Version of the API.' }),
      },
      { description: 'Name and version of the API.' },
    ),
    paths: Type.Object({}, { description: 'Operations by path and method.' }),
    components: Type.Object({}, { description: 'Schemas and responses that operations share.' }),
  },
  {
    examples: [
      {
        openapi: '3.1.0',
        info: { title: 'Holdfast', version: API_VERSION },
        paths: {},
        components: {},
      },
    ],
  },
);

const descriptionOperations = {
  describeApi: {
    at: 'GET /v1/openapi.json',
    tag: 'Coordinator',
    summary: 'Read this API description',
    description:
      'Returns the OpenAPI 3.1 document that you are reading. The response has an `ETag`; send it as `If-None-Match` to get status 304 while the document is unchanged.',
    allows: 'public',
    responses: { 200: { what: 'The OpenAPI document.', schema: apiDescription } },
  },
} as const satisfies Operations;

/** Includes the route of the description itself. */
export function withDescription(routes: readonly Route[]): readonly Route[] {
  // Built once: building takes milliseconds, and requests for it need no key.
  let built: Built | undefined;
  const build = (): Built => {
    const bytes = Buffer.from(JSON.stringify(openapiOf(all, API_VERSION)));
    return { bytes, etag: etagOf(bytes) };
  };
  const description = routesOf(descriptionOperations, {
    async describeApi(_, { header }) {
      built ??= build();
      const headers = { etag: built.etag, 'cache-control': 'no-cache' };
      if (matchesEtag(built.etag, header('if-none-match'))) return { status: 304, headers };
      return { status: 200, headers, raw: { type: 'application/json', bytes: built.bytes } };
    },
  });
  const all = [...routes, ...description];
  return all;
}

// Example values for the description of the API. A schema carries its own `examples`; an object
// without one is composed of its required properties. A test checks each example against its schema.

interface Shape {
  readonly examples?: readonly unknown[];
  readonly const?: unknown;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly TSchema[];
  readonly items?: TSchema;
  readonly properties?: Readonly<Record<string, TSchema>>;
  readonly required?: readonly string[];
  readonly type?: string;
  readonly minimum?: number;
}

function exampleOf(schema: TSchema): unknown {
  const shape = schema as Shape;
  const [first] = shape.examples ?? [];
  if (first !== undefined) return first;
  if (shape.const !== undefined) return shape.const;
  if (shape.default !== undefined) return shape.default;
  if (shape.enum !== undefined) return shape.enum[0];
  const [form] = shape.anyOf ?? [];
  return form === undefined ? exampleOfType(shape) : exampleOf(form);
}

function exampleOfType(shape: Shape): unknown {
  switch (shape.type) {
    case 'object':
      return exampleOfObject(shape);
    case 'array':
      return shape.items === undefined ? [] : [exampleOf(shape.items)];
    case 'integer':
    case 'number':
      return shape.minimum ?? 0;
    case 'boolean':
      return false;
    case 'string':
      return 'text';
    default:
      return null;
  }
}

function exampleOfObject({ properties = {}, required = [] }: Shape): object {
  const entries = Object.entries(properties).filter(([name]) => required.includes(name));
  return Object.fromEntries(entries.map(([name, each]) => [name, exampleOf(each)]));
}
