// Every operation of the API description needs a summary, a description, a tag, schemas, problems,
// and examples that fit their schemas.

import Schema from 'typebox/schema';

interface Media {
  readonly schema?: Described;
  readonly example?: unknown;
}

type Content = Readonly<Record<string, Media>>;

interface Documented {
  readonly description?: string;
  readonly content?: Content;
  readonly $ref?: string;
}

interface Parameter extends Media {
  readonly $ref?: string;
  readonly name: string;
  readonly description?: string;
}

interface DocumentedOperation {
  readonly operationId: string;
  readonly tags?: readonly string[];
  readonly summary?: string;
  readonly description?: string;
  readonly parameters: readonly Parameter[];
  readonly requestBody?: Documented;
  readonly responses: Readonly<Record<string, Documented>>;
}

interface Described {
  readonly $ref?: string;
  readonly description?: string;
  readonly const?: unknown;
}

export interface ApiDocument {
  readonly tags: readonly { readonly name: string; readonly description?: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, DocumentedOperation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Described>>;
    readonly responses: Readonly<Record<string, Documented>>;
    readonly parameters: Readonly<Record<string, Parameter>>;
  };
}

const SUMMARY_MAX = 72;
const DESCRIPTION_MIN = 40;
const PROBLEM = 'application/problem+json';

/** Sentences that open like this describe a thing and not an action. */
const NO_VERB =
  /^(?:a|an|the|one|it|its|what|who|how|why|when|where|whether|which|as|of|that|this|those|all)\b/i;

export function descriptionProblems(document: ApiDocument): readonly string[] {
  const operations = Object.entries(document.paths).flatMap(([path, verbs]) =>
    Object.entries(verbs).map(([method, operation]) => ({
      at: `${method.toUpperCase()} ${path}`,
      operation,
    })),
  );
  return [
    ...tagProblems(document, operations),
    ...operations.flatMap(({ at, operation }) =>
      operationProblems(document, operation).map((problem) => `${at}: ${problem}`),
    ),
    ...propertyProblems(document),
    ...sentenceProblems(document, ''),
  ];
}

/** Openings that hide the subject of a sentence (CONTRIBUTING.md). */
const HEADLESS = /(?:^|[.:;] )(?:What|Who|Whoever|Whether|That)\b/;

function sentenceProblems(value: unknown, path: string): readonly string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, each]) => {
    if (name === 'example' || name === 'examples') return [];
    if (name !== 'description' || typeof each !== 'string') {
      return sentenceProblems(each, `${path}/${name}`);
    }
    return HEADLESS.test(each) ? [`${path} has a sentence without a subject: ${each}`] : [];
  });
}

function tagProblems(
  { tags }: ApiDocument,
  operations: readonly { readonly operation: DocumentedOperation }[],
): readonly string[] {
  const used = new Set(operations.flatMap(({ operation }) => operation.tags ?? []));
  return tags.flatMap(({ name, description = '' }) => [
    ...(used.has(name) ? [] : [`tag ${name} has no operation`]),
    ...(description === '' ? [`tag ${name} has no description`] : []),
  ]);
}

function operationProblems(
  document: ApiDocument,
  operation: DocumentedOperation,
): readonly string[] {
  const { tags = [], summary = '', description = '', requestBody } = operation;
  const { components } = document;
  const parameters = operation.parameters.map((each) => found(components.parameters, each));
  const known = new Set(document.tags.map(({ name }) => name));
  const isTagged = tags.length === 1 && tags.every((tag) => known.has(tag));
  return [
    ...(isTagged ? [] : ['needs one tag of the list']),
    ...summaryProblems(summary),
    ...(description.length < DESCRIPTION_MIN ? ['needs a description'] : []),
    ...parameters.flatMap((each) => [
      ...((each.description ?? '') === '' ? [`parameter ${each.name} needs a description`] : []),
      ...mediaProblems(document, `parameter ${each.name}`, each),
    ]),
    ...(requestBody === undefined
      ? []
      : contentProblems(document, 'the request body', requestBody.content)),
    ...responseProblems(document, operation),
  ];
}

function summaryProblems(summary: string): readonly string[] {
  const [verb = ''] = summary.split(' ');
  const isImperative =
    /^[A-Z][a-z-]+$/.test(verb) && !NO_VERB.test(summary) && !/[^s]s$/.test(verb);
  return [
    ...(isImperative ? [] : [`the summary must begin with an imperative: "${summary}"`]),
    ...(summary.length > SUMMARY_MAX
      ? [`the summary has more than ${SUMMARY_MAX} characters`]
      : []),
    ...(summary.endsWith('.') ? ['the summary must not end in a full stop'] : []),
  ];
}

/** An upgraded connection, and an empty response. */
const BODILESS: ReadonlySet<number> = new Set([101, 204]);

function responseProblems(
  document: ApiDocument,
  { responses }: DocumentedOperation,
): readonly string[] {
  const all = Object.entries(responses).map(([status, response]) => ({
    status: Number(status),
    ...found(document.components.responses, response),
  }));
  const problems = all.filter(({ status }) => status >= 400);
  return [
    ...(all.length > problems.length ? [] : ['needs a response for success']),
    ...(problems.length > 0 ? [] : ['needs a problem response']),
    ...all.flatMap(({ status, description = '', content }) => [
      ...(description === '' ? [`response ${status} needs a description`] : []),
      ...(BODILESS.has(status) ? [] : contentProblems(document, `response ${status}`, content)),
    ]),
    ...problems.flatMap(({ status, content }) =>
      codeOf(content) === undefined ? [`response ${status} needs an example with its code`] : [],
    ),
  ];
}

/** The component that it refers to, or the schema itself. */
function found<Part extends { readonly $ref?: string }>(
  components: Readonly<Record<string, Part>>,
  part: Part,
): Part {
  return components[part.$ref?.split('/').at(-1) ?? ''] ?? part;
}

function codeOf(content: Content | undefined): unknown {
  return (content?.[PROBLEM]?.example as { readonly code?: unknown } | undefined)?.code;
}

function contentProblems(
  document: ApiDocument,
  what: string,
  content: Content | undefined,
): readonly string[] {
  const media = Object.values(content ?? {});
  if (media.length === 0) return [`${what} needs a schema and an example`];
  return media.flatMap((each) => mediaProblems(document, what, each));
}

function mediaProblems(
  { components }: ApiDocument,
  what: string,
  { schema, example }: Media,
): readonly string[] {
  if (schema === undefined) return [`${what} needs a schema`];
  if (example === undefined) return [`${what} needs an example`];
  const [fits, errors] = Schema.Errors({ components, ...schema } as never, example);
  if (fits) return [];
  const why = errors.map((error) => `${error.instancePath} ${error.message}`).join('; ');
  return [`the example of ${what} does not fit its schema: ${why}`];
}

/** Properties that no description explains. Those that refer to a component have its description. */
function propertyProblems(document: ApiDocument): readonly string[] {
  const found: string[] = [];
  visit(document, '', (properties, path) => {
    for (const [name, each] of Object.entries(properties)) {
      const isExplained = each.description !== undefined || each.$ref !== undefined;
      if (!isExplained) found.push(`${path}/${name} needs a description`);
    }
  });
  return [...new Set(found)];
}

function visit(
  value: unknown,
  path: string,
  see: (properties: Readonly<Record<string, Described>>, path: string) => void,
): void {
  if (typeof value !== 'object' || value === null) return;
  const { type, properties } = value as { readonly type?: unknown; readonly properties?: object };
  if (type === 'object' && properties !== undefined) {
    see(properties as Readonly<Record<string, Described>>, path);
  }
  for (const [name, each] of Object.entries(value)) {
    if (name !== 'example') visit(each, `${path}/${name}`, see);
  }
}
