// An operation of the API as data: its address, roles, schemas and documentation. The server
// registers, checks and describes operations from their tables alone, and tests walk over them.
// Callers name an operation by its address and get the types of its schemas without loading a table
// (ADR 0045).

import type { Static, TSchema } from 'typebox';
import type { Role } from '../../features/access/model.ts';
import type { Code } from '../../support/codes/catalogue.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

export type Listener = 'main' | 'admin';

/** Groups of operations in the API description, by task. */
export const TAGS = {
  Executions: 'Submit executions, and read their state, history, documents and results.',
  Control: 'Cancel, pause, resume, signal and annotate executions.',
  'Live updates': 'Follow an execution or a list with server-sent events.',
  Awaits: 'List the questions that executions ask, and answer, extend, assign or cancel them.',
  'Answer links': 'Read and answer one question with a signed link and without an access key.',
  Repair: 'Inspect dead letters, re-drive ended executions and repair compensations.',
  Jobs: 'Start and control jobs that act on many executions.',
  Audit: 'Read who did what, and which writes of replaced workers the store refused.',
  Archive: 'Search, read and verify archived executions, and archive now.',
  Templates: 'Store versioned submissions and read them.',
  Schedules: 'Submit executions at fixed intervals or by cron.',
  Releases: 'Register builds of a pipeline, roll them out, and repin open executions.',
  Overview: 'Read the figures of a project: counts, rates, durations, causes of failures.',
  'Saved views': 'Share filters of the console with the other users of a project.',
  Channels: 'Announce what happens in a project to webhooks, and see what became of each message.',
  'Workers and sessions': 'List workers and sessions, measure the load, and end a session.',
  Leases: 'Inspect, drain and revoke leases.',
  'Projects and keys': 'Create projects and access keys, and revoke or rotate keys.',
  Coordinator: 'Check health, read metrics, and sign a browser in or out.',
  Demo: 'Control the demo of `holdfast dev`.',
  'Worker protocol':
    'The messages of a worker: session, heartbeat, claims, writes, inbox and large values.',
  'Lease protocol': 'Acquire, keep, release and watch leases through the coordinator.',
} as const;

export type Tag = keyof typeof TAGS;

export interface DocumentedResponse {
  /** One sentence. */
  readonly what: string;
  readonly schema?: TSchema;
  /** For a body that is not JSON. */
  readonly text?: { readonly type: string; readonly example: string };
  /** For a problem: the codes that this operation returns with this status. */
  readonly codes?: readonly Code[];
}

/** Values are decoded here, and the coordinator may lack the codec. */
export const CODEC_MISSING = {
  409: {
    what: 'A codec that this coordinator lacks encoded a stored value.',
    codes: ['codec-missing'],
  },
} as const;

export const NO_EXECUTION = {
  404: { what: 'The project has no such execution.', codes: ['execution-unknown'] },
} as const;

/** A download. */
export const DOWNLOAD = { type: 'application/octet-stream', example: '%PDF-1.7 …' } as const;

export interface Operation {
  /** With `:name` for parameters. */
  readonly at: `${Method} /${string}`;
  /** Imperative, without a full stop. */
  readonly summary: string;
  /**
   * Its effect, its writes, its refusals, and whether repeating it is safe. The API description
   * adds the roles and codes of this table.
   */
  readonly description: string;
  readonly tag: Tag;
  /** One of these roles; `public`: no access key. */
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
  readonly responses: Readonly<Record<number, DocumentedResponse>>;
  /** It reads up to 10,000 rows for a small reply, so it takes more of its project's share (P-18). */
  readonly isSearch?: boolean;
  /** The server may hold the request open for long, or only with a `waitMs` above 0. */
  readonly isLong?: boolean | 'with-wait';
}

/** By name: one verb, one noun. */
export type Operations = Readonly<Record<string, Operation>>;

/** A table of operations. Those that name no group of their own belong to `tag`. */
export function operationsOf<
  const Of extends Readonly<Record<string, Omit<Operation, 'tag'> & { readonly tag?: Tag }>>,
>(tag: Tag, operations: Of): { readonly [Name in keyof Of]: Of[Name] & { readonly tag: Tag } } {
  const tagged = Object.entries(operations).map(([name, each]) => [name, { tag, ...each }]);
  return Object.fromEntries(tagged);
}

/** The parameters, the query or the body, as the schema has it. Undefined if there is none. */
export type Part<Of, Name extends 'params' | 'query' | 'body'> = Of extends {
  readonly [name in Name]: infer Schema extends TSchema;
}
  ? Static<Schema>
  : undefined;

/** Roles that may read a project's executions. */
export const READERS = ['submit', 'operate'] as const;
export const ADMIN = { allows: ['admin'], listener: 'admin' } as const;
