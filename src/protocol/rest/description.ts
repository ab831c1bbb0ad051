// The API's own description, as a route.

import { etagOf, isSame } from './handling.ts';
import { openapiOf } from './openapi.ts';
import { type Route, route } from './route.ts';

/** Of the API; it changes when something that was there is not, or means something else. */
export const API_VERSION = '1';

interface Built {
  readonly bytes: Buffer;
  readonly etag: string;
}

/** Also of itself. */
export function withDescription(routes: readonly Route[]): readonly Route[] {
  // Built once: building it takes milliseconds, and requests for it need no key.
  let built: Built | undefined;
  const build = (): Built => {
    const bytes = Buffer.from(JSON.stringify(openapiOf(all, API_VERSION)));
    return { bytes, etag: etagOf(bytes) };
  };
  const all: readonly Route[] = [
    ...routes,
    route({
      method: 'GET',
      path: '/v1/openapi.json',
      name: 'describeApi',
      summary: 'This description.',
      allows: 'public',
      answers: { 200: { what: 'OpenAPI 3.1.' } },
      async handle(_, { header }) {
        built ??= build();
        const headers = { etag: built.etag, 'cache-control': 'no-cache' };
        if (isSame(built.etag, header('if-none-match'))) return { status: 304, headers };
        return { status: 200, headers, raw: { type: 'application/json', bytes: built.bytes } };
      },
    }),
  ];
  return all;
}
