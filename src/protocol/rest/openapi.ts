// Builds the OpenAPI 3.1 description from the routes alone. Their schemas are already JSON Schema,
// so the description equals the checks.

import type { TSchema } from 'typebox';
import { interaction } from '../../features/awaits/messages.ts';
import { execution } from '../messages/execution.ts';
import type { Operations } from '../messages/operation.ts';
import { problem } from '../messages/problem.ts';
import { submission } from '../messages/work.ts';
import { etagOf, matchesEtag } from './handling.ts';
import { type Route, routesOf } from './route.ts';

const PROBLEM = { $ref: '#/components/schemas/Problem' };
/** Responses that any route may send. */
const COMMON: Readonly<Record<string, string>> = {
  400: 'Something that was sent is not what it must be.',
  401: 'A key that is known is required.',
  403: 'The key does not allow this.',
  404: 'There is no such thing in this project.',
  413: 'Too large.',
  429: 'Too many requests, or too many that are held open.',
  500: 'A fault of the coordinator.',
  503: 'The store cannot be reached.',
};

export function openapiOf(routes: readonly Route[], version: string): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const route of routes) {
    const path = route.path.replace(/:(\w+)/g, '{$1}');
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationOf(route) };
  }
  return withRefs({
    openapi: '3.1.0',
    info: {
      title: 'Holdfast',
      version,
      description: 'The API of a coordinator. Problems are application/problem+json (RFC 9457).',
    },
    paths,
    components: {
      schemas: {
        Problem: problem,
        ...Object.fromEntries([...NAMED].map(([a, b]) => [b, { ...a }])),
      },
      responses: Object.fromEntries(
        Object.entries(COMMON).map(([status, description]) => [
          `Problem${status}`,
          { description, ...problemContent() },
        ]),
      ),
      securitySchemes: {
        key: { type: 'http', scheme: 'bearer', description: 'An access key: hf_…' },
      },
    },
  });
}

/** Schemas that many places use appear once. */
const NAMED: ReadonlyMap<TSchema, string> = new Map<TSchema, string>([
  [submission, 'Submission'],
  [execution, 'Execution'],
  [interaction, 'Interaction'],
]);

function withRefs(document: object): object {
  const text = JSON.stringify(document, (_, value: TSchema) => {
    const name = NAMED.get(value);
    return name === undefined ? value : { $ref: `#/components/schemas/${name}` };
  });
  return JSON.parse(text) as object;
}

function operationOf(route: Route): object {
  const { name, summary, allows, needs, body, takesBytes } = route;
  const isPublic = allows === 'public';
  return {
    operationId: name,
    summary,
    ...(isPublic ? { security: [] } : { security: [{ key: [] }], 'x-roles': allows }),
    ...(needs && { 'x-needs-roles': needs }),
    ...(route.listener === undefined ? {} : { 'x-listener': route.listener }),
    parameters: [
      ...parametersOf('path', route.params),
      ...parametersOf('query', route.query),
      ...(isPublic ? [] : [PROJECT]),
    ],
    ...(body === undefined && takesBytes !== true ? {} : { requestBody: requestBodyOf(route) }),
    responses: responsesOf(route),
  };
}

const PROJECT = {
  name: 'holdfast-project',
  in: 'header',
  required: false,
  description: 'For keys of all projects: which one is meant. Default: default.',
  schema: { type: 'string' },
};

interface ObjectSchema {
  readonly properties?: Readonly<Record<string, TSchema>>;
  readonly required?: readonly string[];
}

function parametersOf(where: 'path' | 'query', schema: TSchema | undefined): readonly object[] {
  const { properties = {}, required = [] } = (schema ?? {}) as ObjectSchema;
  return Object.entries(properties).map(([name, each]) => ({
    name,
    in: where,
    required: required.includes(name),
    schema: each,
  }));
}

function requestBodyOf({ body, takesBytes }: Route): object {
  const { required = [] } = (body ?? {}) as ObjectSchema;
  return takesBytes === true
    ? { required: true, content: { 'application/octet-stream': {} } }
    : { required: required.length > 0, content: { 'application/json': { schema: body } } };
}

function responsesOf(route: Route): object {
  const own = Object.entries(route.answers).map(([status, { what, schema }]) => {
    const isProblem = Number(status) >= 400;
    const content = isProblem ? problemContent() : contentOf(schema);
    return [status, { description: what, ...content }] as const;
  });
  const common = Object.entries(COMMON)
    .filter(([status]) => mayAnswer(route, Number(status)))
    .map(([status]) => [status, { $ref: `#/components/responses/Problem${status}` }] as const);
  return { ...Object.fromEntries(common), ...Object.fromEntries(own) };
}

function mayAnswer({ allows, params, query, body }: Route, status: number): boolean {
  if (status === 401 || status === 403) return allows !== 'public';
  if (status === 404) return params !== undefined || allows !== 'public';
  if (status === 413) return body !== undefined;
  return status !== 400 || [params, query, body].some((each) => each !== undefined);
}

function contentOf(schema: TSchema | undefined): object {
  return schema === undefined ? {} : { content: { 'application/json': { schema } } };
}

function problemContent(): object {
  return { content: { 'application/problem+json': { schema: PROBLEM } } };
}

// The route that serves the description.

/** The version of the API. It changes when something disappears or changes its meaning. */
export const API_VERSION = '1';

interface Built {
  readonly bytes: Buffer;
  readonly etag: string;
}

const descriptionOperations = {
  describeApi: {
    at: 'GET /v1/openapi.json',
    summary: 'This description.',
    allows: 'public',
    answers: { 200: { what: 'OpenAPI 3.1.' } },
  },
} as const satisfies Operations;

/** Includes the description route itself. */
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
