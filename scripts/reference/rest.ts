// Renders the reference of the HTTP API from its OpenAPI document: a list of operations, and a page for
// each tag.

import { API_VERSION, openapiOf } from '../../src/protocol/rest/openapi.ts';
import { ROUTES } from '../../src/protocol/rest/routes.ts';
import { slugOf } from '../site/slug.ts';
import { codeBlock, pageText, plain, tableOf, wrapped, wrappedLine } from './markdown.ts';
import { type ApiSchema, schemaRows, typeText } from './schema-text.ts';

interface Media {
  readonly schema?: ApiSchema;
  readonly example?: unknown;
}

interface Parameter extends Media {
  readonly $ref?: string;
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly description?: string;
}

interface Body {
  readonly $ref?: string;
  readonly description?: string;
  readonly required?: boolean;
  readonly content?: Readonly<Record<string, Media>>;
}

interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description: string;
  readonly security?: readonly object[];
  readonly 'x-roles'?: readonly string[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: Body;
  readonly responses: Readonly<Record<string, Body>>;
}

export interface ApiDocument {
  readonly info: { readonly description: string };
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, ApiSchema>>;
    readonly parameters: Readonly<Record<string, Parameter>>;
    readonly responses: Readonly<Record<string, Body>>;
  };
}

interface Listed {
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
}

const GROUP = 'REST API';
const SOURCE = 'the operation tables in src/protocol';

const INTRODUCTION = `The base of all paths is the address of the coordinator, by default \`http://127.0.0.1:7433\`.
\`GET /v1/openapi.json\` returns the same as an OpenAPI 3.1 document. The site has a page for each group below,
with parameters, examples and problems.`;

export function apiDocument(): ApiDocument {
  return openapiOf(ROUTES, API_VERSION) as ApiDocument;
}

/** The list of all operations. It is in the repository, so that a review shows API changes. */
export function restIndex(document: ApiDocument = apiDocument(), isLinked = false): string {
  const listed = operationsOf(document);
  const groups = document.tags.map(({ name, description }) => {
    const rows = listed
      .filter(({ operation }) => operation.tags.includes(name))
      .map(({ method, path, operation }) => [
        `\`${method} ${path}\``,
        isLinked ? detailLink(name, operation) : plain(operation.summary),
        rolesOf(operation),
      ]);
    const table = tableOf([['Operation', 'Summary', 'Roles'], ...rows]);
    return `## ${name}\n\n${wrappedLine(plain(description))}\n\n${table}`;
  });
  return pageText({ title: 'Overview', order: 200, group: GROUP }, SOURCE, [
    '# REST API',
    wrapped(document.info.description),
    wrapped(INTRODUCTION),
    ...groups,
  ]);
}

/** Pages by path in docs/reference: one for each tag, and one for shared schemas. */
/** Leads to a page that only the site has. */
function detailLink(tag: string, { summary }: Operation): string {
  return `[${plain(summary)}](rest/${fileOf(tag)}.md#${slugOf(summary)})`;
}

export function restPages(document: ApiDocument = apiDocument()): Readonly<Record<string, string>> {
  const listed = operationsOf(document);
  const pages = document.tags.map(({ name, description }, at) => {
    const own = listed.filter(({ operation }) => operation.tags.includes(name));
    const text = pageText({ title: name, order: 201 + at, group: GROUP }, SOURCE, [
      `# ${name}`,
      wrappedLine(plain(description)),
      ...own.map((each) => operationText(document, each)),
    ]);
    return [`rest/${fileOf(name)}.md`, text] as const;
  });
  return { ...Object.fromEntries(pages), 'rest/schemas.md': schemasPage(document) };
}

function schemasPage({ components }: ApiDocument): string {
  const texts = Object.entries(components.schemas).map(([name, schema]) => {
    const rows = schemaRows(schema);
    const about = schema.description === undefined ? [] : [wrappedLine(plain(schema.description))];
    const shape = rows.length === 0 ? typeText(schema) : tableOf([PROPERTY_HEAD, ...rows]);
    return [`## ${name}`, ...about, shape].join('\n\n');
  });
  return pageText({ title: 'Schemas', order: 299, group: GROUP }, SOURCE, [
    '# Schemas',
    'Several operations share these values.',
    ...texts,
  ]);
}

const PROPERTY_HEAD = ['Property', 'Type', 'Required', 'Description'];

function operationText(document: ApiDocument, { method, path, operation }: Listed): string {
  const { components } = document;
  const parameters = (operation.parameters ?? []).map((each) =>
    resolved(components.parameters, each),
  );
  return [
    `## ${plain(operation.summary)}`,
    codeBlock('http', `${method} ${path}`),
    wrappedLine(plain(operation.description)),
    ...parameterTable(parameters),
    ...bodyText(components.schemas, operation.requestBody),
    '**Example**',
    codeBlock('sh', curlOf({ method, path, operation }, parameters)),
    ...responseTexts(document, operation),
  ].join('\n\n');
}

function parameterTable(parameters: readonly Parameter[]): readonly string[] {
  if (parameters.length === 0) return [];
  const rows = parameters.map(({ name, in: place, schema, required, description = '' }) => [
    `\`${name}\``,
    ...[place, typeText(schema ?? {}), required === true ? 'yes' : 'no', plain(description)],
  ]);
  return [tableOf([['Parameter', 'In', 'Type', 'Required', 'Description'], ...rows])];
}

function bodyText(
  schemas: Readonly<Record<string, ApiSchema>>,
  body: Body | undefined,
): readonly string[] {
  const [[type, { schema = {} }] = ['', {} as Media]] = Object.entries(body?.content ?? {});
  if (type === '') return [];
  const rows = schemaRows(named(schemas, schema));
  const shape = rows.length === 0 ? typeText(schema) : tableOf([PROPERTY_HEAD, ...rows]);
  return [`**Body** (\`${type}\`)`, shape];
}

function responseTexts(document: ApiDocument, { responses }: Operation): readonly string[] {
  const { schemas, responses: shared } = document.components;
  const all = Object.entries(responses).map(
    ([status, each]) => [status, resolved(shared, each)] as const,
  );
  const good = all.filter(([status]) => Number(status) < 400);
  const problems = all.filter(([status]) => Number(status) >= 400);
  return [
    ...good.flatMap(([status, { description = '', content = {} }]) => [
      `**Response ${status}**: ${plain(description)}`,
      ...Object.values(content).flatMap(({ schema = {}, example }) => {
        const rows = schemaRows(named(schemas, schema));
        return [
          ...(example === undefined ? [] : [codeBlock(languageOf(example), shown(example))]),
          ...(rows.length === 0 ? [] : [tableOf([PROPERTY_HEAD, ...rows])]),
        ];
      }),
    ]),
    ...(problems.length === 0
      ? []
      : [
          '**Problems**',
          tableOf([
            ['Status', 'Description'],
            ...problems.map(([status, { description = '' }]) => [status, plain(description)]),
          ]),
        ]),
  ];
}

function curlOf({ method, path, operation }: Listed, parameters: readonly Parameter[]): string {
  const exampleOf = (name: string): unknown =>
    parameters.find((each) => each.name === name)?.example;
  const filled = path.replaceAll(/\{(\w+)\}/g, (whole, name: string) =>
    String(exampleOf(name) ?? whole),
  );
  const query = parameters
    .filter((each) => each.in === 'query' && each.required === true)
    .map(({ name, example }) => `${name}=${encodeURIComponent(String(example))}`)
    .join('&');
  const [[type, { example }] = ['', {} as Media]] = Object.entries(
    operation.requestBody?.content ?? {},
  );
  const lines = [
    `curl ${method === 'GET' ? '' : `-X ${method} `}"$HOLDFAST_URL${filled}${query === '' ? '' : `?${query}`}"`,
    ...(isPublic(operation) ? [] : ['-H "Authorization: Bearer $HOLDFAST_KEY"']),
    ...(type === '' ? [] : [`-H 'Content-Type: ${type}'`]),
    ...(example === undefined ? [] : [`-d ${quoted(JSON.stringify(example))}`]),
  ];
  return lines.join(' \\\n  ');
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function operationsOf({ paths }: ApiDocument): readonly Listed[] {
  return Object.entries(paths).flatMap(([path, verbs]) =>
    Object.entries(verbs).map(([verb, operation]) => ({
      method: verb.toUpperCase(),
      path,
      operation,
    })),
  );
}

function rolesOf(operation: Operation): string {
  const roles = operation['x-roles'] ?? [];
  if (isPublic(operation)) return 'no key needed';
  return roles.length === 0 ? 'any key' : roles.map((role) => `\`${role}\``).join(', ');
}

function isPublic({ security = [] }: Operation): boolean {
  return security.length === 0;
}

function resolved<Part extends { readonly $ref?: string }>(
  parts: Readonly<Record<string, Part>>,
  part: Part,
): Part {
  return part.$ref === undefined ? part : (parts[part.$ref.split('/').at(-1) ?? ''] ?? part);
}

function named(schemas: Readonly<Record<string, ApiSchema>>, schema: ApiSchema): ApiSchema {
  return resolved(schemas, schema);
}

function shown(example: unknown): string {
  return typeof example === 'string' ? example : JSON.stringify(example, undefined, 2);
}

function languageOf(example: unknown): string {
  return typeof example === 'string' ? 'text' : 'json';
}

function fileOf(tag: string): string {
  return tag.toLowerCase().replaceAll(' ', '-');
}
