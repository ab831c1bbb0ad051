// The API's own description, as a route.

import { openapiOf } from './openapi.ts';
import { type Route, route } from './route.ts';

/** Of the API; it changes when something that was there is not, or means something else. */
export const API_VERSION = '1';

/** Also of itself. */
export function withDescription(routes: readonly Route[]): readonly Route[] {
  const all: readonly Route[] = [
    ...routes,
    route({
      method: 'GET',
      path: '/v1/openapi.json',
      name: 'describeApi',
      summary: 'This description.',
      allows: 'public',
      answers: { 200: { what: 'OpenAPI 3.1.' } },
      handle: async () => ({ status: 200, body: openapiOf(all, API_VERSION) }),
    }),
  ];
  return all;
}
