// `fetch`, with a look at what comes back: a route answers only with what it says it answers with.

import { Compile, type Validator } from 'typebox/compile';
import { problem } from '../../src/protocol/messages/problem.ts';
import { ROUTES } from '../../src/protocol/rest/routes.ts';

const validators: Map<unknown, Validator> = new Map();

/** Throws when an answer is not what the route's description says. */
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
  const { schema } = route?.answers[response.status] ?? {};
  const expected = type.includes('problem') ? problem : schema;
  if (expected !== undefined) {
    const validator = validators.get(expected) ?? Compile(expected);
    validators.set(expected, validator);
    const body: unknown = JSON.parse(text);
    if (!validator.Check(body)) {
      const said = [...validator.Errors(body)].map(
        (each) => `${each.instancePath} ${each.message}`,
      );
      throw new Error(`${route?.name} ${response.status} is not as described: ${said.join('; ')}`);
    }
  }
  const { status, headers } = response;
  return new Response([204, 304].includes(status) ? null : text, { status, headers });
};
