// An operation of the API, as data: where it is, who may call it, what it takes and returns. The server registers,
// checks and describes operations from their tables alone, and tests walk over them. Callers name an operation by
// its address and have the types of its schemas; they load no table (ADR 0045).

import type { Static, TSchema } from 'typebox';
import type { Role } from '../../features/access/model.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

export type Listener = 'main' | 'admin';

export interface Operation {
  /** With `:name` for parameters. */
  readonly at: `${Method} /${string}`;
  readonly summary: string;
  /** Any of these; `public`: whoever can reach it. */
  readonly allows: readonly Role[] | 'public';
  /** And all of these. */
  readonly needs?: readonly Role[];
  /** Which listener has it when there are two. */
  readonly listener?: Listener;
  readonly params?: TSchema;
  readonly query?: TSchema;
  readonly body?: TSchema;
  /** The body is bytes, not JSON. */
  readonly takesBytes?: boolean;
  /** The body has values of users in it, which may be large. Others are short. */
  readonly takesValues?: boolean;
  /** By status. */
  readonly answers: Readonly<Record<number, { readonly what: string; readonly schema?: TSchema }>>;
  /** It may be held open for long. */
  readonly isLong?: boolean;
}

/** By name: one verb, one noun. */
export type Operations = Readonly<Record<string, Operation>>;

/** The parameters, the query or the body, as the schema has it; undefined where there is none. */
export type Part<Of, Name extends 'params' | 'query' | 'body'> = Of extends {
  readonly [name in Name]: infer Schema extends TSchema;
}
  ? Static<Schema>
  : undefined;

/** Who looks at what a project has. */
export const READERS = ['submit', 'operate'] as const;
export const ADMIN = { allows: ['admin'], listener: 'admin' } as const;
