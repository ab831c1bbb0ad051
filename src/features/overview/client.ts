// The client's methods for the figures of a project.

import { type Calls, callOperation } from '../../client/calls.ts';

/** The range of trends. */
export interface TrendsQuery {
  /** The length, in milliseconds. Default one hour. */
  readonly rangeMs?: number;
  /** The end, as ISO 8601 text. Default now. */
  readonly to?: string;
  /** Only this pipeline. */
  readonly pipeline?: string;
  /** Only this release. Needs `pipeline`. */
  readonly release?: string;
}

/** Operations of `client.overview`. */
export function overviewClient(client: Calls) {
  return {
    /** Returns what the project has now, as the store counts it. */
    read: () => callOperation(client, 'GET /v1/overview'),
    /** Returns rates and durations over time. */
    trends: (query: TrendsQuery = {}) => callOperation(client, 'GET /v1/trends', query),
  };
}
