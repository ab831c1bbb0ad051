// `fetch` that checks each response: a route returns only what its description names.

import { Compile, type Validator } from 'typebox/compile';
import { problem } from '../../src/protocol/messages/problem.ts';
import { documentedCodes } from '../../src/protocol/rest/openapi.ts';
import { ROUTES } from '../../src/protocol/rest/routes.ts';

const validators: Map<unknown, Validator> = new Map();

/** Throws if a response differs from the description of its route. */
export const checkedFetch: typeof fetch = async (input, init) => {
  const response = await fetch(input, init);
  const { pathname } = new URL(String(input));
  const route = ROUTES.find(({ method, path }) => {
    const pattern = `^${path.replace(/:\w+/g, '[^/]+')}$`;
    return method === (init?.method ?? 'GET') && new RegExp(pattern).test(pathname);
  });
  const type = response.headers.get('content-type') ?? '';
  if (!/json/.test(type)) return response;
  const text = await response.text();
  const { schema } = route?.responses[response.status] ?? {};
  const expected = type.includes('problem') ? problem : schema;
  if (expected !== undefined) {
    const validator = validators.get(expected) ?? Compile(expected);
    validators.set(expected, validator);
    const body: unknown = JSON.parse(text);
    if (!validator.Check(body)) {
      const problems = [...validator.Errors(body)].map(
        (each) => `${each.instancePath} ${each.message}`,
      );
      throw new Error(
        `${route?.name} ${response.status} is not as described: ${problems.join('; ')}`,
      );
    }
  }
  const { status, headers } = response;
  if (route !== undefined && type.includes('problem')) requireDocumented(route, status, text);
  return new Response([204, 304].includes(status) ? null : text, { status, headers });
};

function requireDocumented(route: (typeof ROUTES)[number], status: number, text: string): void {
  const { code } = JSON.parse(text) as { readonly code: string };
  const codes = documentedCodes(route, status);
  if (codes.includes(code)) return;
  throw new Error(
    `${route.name} returns ${status} ${code}, but its table names ${codes.join(', ') || 'no code'}.`,
  );
}
