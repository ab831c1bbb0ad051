// An operation of the API as data: its address, its roles, and its schemas. The server registers,
// checks and describes operations from their tables alone, and tests walk over them. Callers name
// an operation by its address and get the types of its schemas without loading a table (ADR 0045).

import type { Static, TSchema } from 'typebox';
import type { Role } from '../../features/access/model.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

export type Listener = 'main' | 'admin';

export interface Operation {
  /** With `:name` for parameters. */
  readonly at: `${Method} /${string}`;
  readonly summary: string;
  /** The caller needs one of these roles. `public`: no key is needed. */
  readonly allows: readonly Role[] | 'public';
  /** The caller also needs all of these. */
  readonly needs?: readonly Role[];
  /** The listener that has it, if there are two. */
  readonly listener?: Listener;
  readonly params?: TSchema;
  readonly query?: TSchema;
  readonly body?: TSchema;
  /** The body is bytes, not JSON. */
  readonly takesBytes?: boolean;
  /** The body has users' values, which may be large. Other bodies are short. */
  readonly takesValues?: boolean;
  /** By status. */
  readonly answers: Readonly<Record<number, { readonly what: string; readonly schema?: TSchema }>>;
  /** The server may hold the request open for long. */
  readonly isLong?: boolean;
}

/** By name: one verb, one noun. */
export type Operations = Readonly<Record<string, Operation>>;

/** The parameters, the query or the body, as the schema has it. Undefined if there is none. */
export type Part<Of, Name extends 'params' | 'query' | 'body'> = Of extends {
  readonly [name in Name]: infer Schema extends TSchema;
}
  ? Static<Schema>
  : undefined;

/** The roles that may read a project's data. */
export const READERS = ['submit', 'operate'] as const;
export const ADMIN = { allows: ['admin'], listener: 'admin' } as const;
