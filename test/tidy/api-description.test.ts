import assert from 'node:assert/strict';
import { test } from 'node:test';
import { API_VERSION, openapiOf } from '../../src/protocol/rest/openapi.ts';
import { ROUTES } from '../../src/protocol/rest/routes.ts';
import { type ApiDocument, descriptionProblems } from './api-description.ts';
import { isTestFile, projectFiles, readProjectFile } from './project-files.ts';

function documentOf(): ApiDocument {
  return JSON.parse(JSON.stringify(openapiOf(ROUTES, API_VERSION))) as ApiDocument;
}

test('every operation has summary, description, tag, schemas, problems and fitting examples', () => {
  assert.deepEqual(descriptionProblems(documentOf()), []);
});

test('docs/openapi.json is up to date (npm run openapi)', () => {
  assert.deepEqual(JSON.parse(readProjectFile('docs/openapi.json')), documentOf());
});

test('every code in a table of operations is one that the code returns', () => {
  const sources = projectFiles('src/**/*.ts')
    .filter(({ path }) => !isTestFile(path) && !/messages(\.ts|\/)|openapi\.ts$/.test(path))
    .map(({ text }) => text)
    .join('\n');
  const codes = new Set(
    ROUTES.flatMap(({ responses }) => Object.values(responses).flatMap(({ codes = [] }) => codes)),
  );
  assert.deepEqual(
    [...codes].filter((code) => !sources.includes(`'${code}'`)),
    [],
  );
});

type Spoiled = Record<string, never> & {
  summary: string;
  description: string;
  tags: string[];
  parameters: object[];
  requestBody: { content: Record<string, { schema?: object; example?: unknown }> };
  responses: Record<string, { content?: Record<string, { schema?: object; example?: unknown }> }>;
};

test('the rule bites', () => {
  const { paths, tags, ...rest } = documentOf();
  const submit = paths['/v1/executions']?.['post'];
  const spoiled = (spoil: (operation: Spoiled) => void): string => {
    const post = structuredClone(submit) as unknown as Spoiled;
    spoil(post);
    const used = tags.filter(({ name }) => submit?.tags?.includes(name));
    const only = { ...rest, tags: used, paths: { '/v1/executions': { post } } };
    return descriptionProblems(only as unknown as ApiDocument).join('\n');
  };
  const json = 'application/json';
  assert.equal(
    spoiled(() => undefined),
    '',
  );
  for (const summary of ['', 'Submits an execution', 'What it submits', 'Submit an execution.']) {
    assert.match(
      spoiled((of) => {
        of.summary = summary;
      }),
      /summary/,
    );
  }
  assert.match(
    spoiled((of) => {
      of.description = '';
    }),
    /needs a description/,
  );
  assert.match(
    spoiled((of) => {
      of.description = 'Submits an execution. What is submitted runs.';
    }),
    /without a subject/,
  );
  assert.match(
    spoiled((of) => {
      of.tags = ['Else'];
    }),
    /needs one tag/,
  );
  assert.match(
    spoiled((of) => {
      delete of.requestBody.content[json]?.example;
    }),
    /the request body needs an example/,
  );
  assert.match(
    spoiled((of) => {
      of.requestBody.content[json] = { ...of.requestBody.content[json], example: { lane: 7 } };
    }),
    /the example of the request body does not fit/,
  );
  assert.match(
    spoiled((of) => {
      delete of.responses['202']?.content?.[json]?.schema;
    }),
    /response 202 needs a schema/,
  );
  assert.match(
    spoiled((of) => {
      of.responses = { 202: of.responses['202'] ?? {} };
    }),
    /needs a problem response/,
  );
  assert.match(
    spoiled((of) => {
      of.requestBody.content[json] = {
        schema: { type: 'object', properties: { odd: { type: 'string' } } },
        example: {},
      };
    }),
    /odd needs a description/,
  );
});
