// Requests to operations of the API, by address. The tables are only types here, so a client loads
// no schema.

import type { Static, TSchema } from 'typebox';
import type { accessOperations } from '../../features/access/messages.ts';
import type { recordOperations } from '../../features/audit/messages.ts';
import type { awaitOperations } from '../../features/awaits/messages.ts';
import type { channelOperations } from '../../features/channels/messages.ts';
import type { overviewOperations } from '../../features/overview/messages.ts';
import type { releaseOperations } from '../../features/releases/messages.ts';
import type { jobOperations, repairOperations } from '../../features/repair/messages.ts';
import type { archiveOperations } from '../../features/retention/messages.ts';
import type { scheduleOperations } from '../../features/schedules/messages.ts';
import type { templateOperations } from '../../features/templates/messages.ts';
import type { updateOperations } from '../../features/updates/messages.ts';
import type { viewOperations } from '../../features/views/messages.ts';
import type { commandOperations } from './commands.ts';
import type { coordinatorOperations } from './coordinator.ts';
import type { eventOperations, executionOperations } from './execution-operations.ts';
import type { leaseOperations } from './leases.ts';
import type { Method, Operations } from './operation.ts';
import type { loadOperations, sessionOperations } from './sessions.ts';

type ByAddress<Table extends Operations> = {
  [Name in keyof Table as Table[Name]['at']]: Table[Name];
};

type Api = ByAddress<typeof executionOperations> &
  ByAddress<typeof eventOperations> &
  ByAddress<typeof commandOperations> &
  ByAddress<typeof awaitOperations> &
  ByAddress<typeof updateOperations> &
  ByAddress<typeof repairOperations> &
  ByAddress<typeof jobOperations> &
  ByAddress<typeof recordOperations> &
  ByAddress<typeof archiveOperations> &
  ByAddress<typeof templateOperations> &
  ByAddress<typeof scheduleOperations> &
  ByAddress<typeof releaseOperations> &
  ByAddress<typeof overviewOperations> &
  ByAddress<typeof viewOperations> &
  ByAddress<typeof channelOperations> &
  ByAddress<typeof sessionOperations> &
  ByAddress<typeof leaseOperations> &
  ByAddress<typeof loadOperations> &
  ByAddress<typeof accessOperations> &
  ByAddress<typeof coordinatorOperations>;

/** Such as `GET /v1/executions/:id`. */
export type Address = keyof Api;

type Has<Of, Name extends string> = Of extends {
  readonly [name in Name]: infer Schema extends TSchema;
}
  ? Static<Schema>
  : Nothing;

type Nothing = Record<never, never>;

/** The caller's view: readonly, and undefined properties count as absent. */
type Given<Value> = {
  readonly [Key in keyof Value]: Listed<Value[Key]> | Left<Value, Key>;
};

type Listed<Value> = Value extends readonly (infer Item)[] ? readonly Item[] : Value;

type Left<Value, Key extends keyof Value> = Nothing extends Pick<Value, Key> ? undefined : never;

type Requests = {
  readonly [At in Address]: Given<
    Has<Api[At], 'params'> & Has<Api[At], 'query'> & Has<Api[At], 'body'>
  >;
};

/** The parameters of the path, and the query or the body, in one object. */
export type RequestOf<At extends Address> = Requests[At];

/** Optional if nothing is required. */
export type RequestIfAny<At extends Address> =
  Nothing extends RequestOf<At> ? [request?: RequestOf<At>] : [request: RequestOf<At>];

type Schemas<Responses> = {
  [Status in keyof Responses]: Status extends 200 | 201 | 202
    ? Has<Responses[Status], 'schema'>
    : Status extends 204
      ? undefined
      : never;
}[keyof Responses];

type Responses = { readonly [At in Address]: Schemas<Api[At]['responses']> };

export type ResponseAt<At extends Address> = Responses[At];

type ApiQuery = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

export interface ApiRequest<Body> {
  readonly method: Method;
  readonly path: string;
  readonly query?: ApiQuery;
  readonly body?: object;
  /** Only a type: the response. */
  readonly response?: Body;
}

/**
 * Takes the path's parameters from `request`. The rest is the query of a GET, or the body of other
 * methods.
 */
export function requestTo<At extends Address>(
  at: At,
  ...[request]: RequestIfAny<At>
): ApiRequest<ResponseAt<At>> {
  const [method, pattern = ''] = at.split(' ') as [Method, string];
  const rest = new Map<string, unknown>(Object.entries(request ?? {}));
  const path = pattern.replace(/:(\w+)/g, (_, name: string) => {
    const word = encodeURIComponent(String(rest.get(name)));
    rest.delete(name);
    return word;
  });
  if (rest.size === 0) return { method, path };
  if (method !== 'GET') return { method, path, body: Object.fromEntries(rest) };
  return { method, path, query: Object.fromEntries(rest) as ApiQuery };
}
