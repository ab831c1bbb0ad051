// A route as data: who may call it, what it takes, what it answers. The server registers them, checks
// them, and describes them in OpenAPI from this alone; tests walk over them.

import type { Static, TSchema } from 'typebox';
import type { Holdfast } from '../../engine/holdfast.ts';
import type { ProjectName } from '../../execution/names.ts';
import type { Role } from '../../features/access/model.ts';
import { nameWithKey } from '../../features/access/model.ts';
import type { CoordinatorStore } from '../../store/contract/execution-store.ts';
import type { Clock } from '../../support/clock.ts';
import type { Timers } from '../../support/timer.ts';
import type { Turns } from '../../support/turns.ts';
import type { AdviceAsked, AdvisedMessage } from '../messages/advice.ts';
import type { DemoMessage, Scene } from '../messages/coordinator.ts';
import type { AnnouncedPipelines } from './announced-pipelines.ts';
import type { FairBell } from './fair-bell.ts';
import type { Hints } from './hints.ts';

/** What `holdfast dev` shows and plays. */
export interface Demo {
  read(): DemoMessage;
  /** Goes on by itself; `read` says how far it is. */
  play(scene: Scene): void;
}

/** What the handlers of a coordinator work with. */
export interface Coordinator {
  readonly holdfast: Holdfast;
  readonly store: CoordinatorStore;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly hints: Hints;
  /** Wakes those who wait, a few of each project at once. */
  readonly bell: FairBell;
  /** What workers ask for all the time: a few of each project are under way at once. */
  readonly turns: { readonly claims: Turns; readonly heartbeats: Turns };
  readonly announced: AnnouncedPipelines;
  readonly auth: 'keys' | 'off';
  /** Answer links can be made and checked. */
  readonly hasLinks: boolean;
  readonly hasArchive: boolean;
  /** Where people look, the routes of admin are too. */
  readonly hasAdmin: boolean;
  /** Of `holdfast dev`. */
  readonly demo?: Demo;
  /** Settings of leases, from what is wanted and what is known. */
  readonly advise: (asked: AdviceAsked) => AdvisedMessage;
  /** Of one project, or of all; absent where nothing is counted. */
  readonly metrics?: (
    project?: ProjectName,
  ) => Promise<{ readonly type: string; readonly text: string }>;
  /** Hears of faults that are one answer among others. */
  readonly onFault?: (code: string, error: unknown) => void;
}

/** Who calls, as the server has found out. */
export interface Caller {
  /** The id of the key; without keys there is none. */
  readonly key?: string;
  readonly name: string;
  readonly project: ProjectName;
  /** What is of no project, or of another one, is for these only. */
  readonly isOfAll: boolean;
  readonly roles: ReadonlySet<Role>;
}

export interface Call<Params, Query, Body> {
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  readonly caller: Caller;
  /** Of the few that routes look at, in lower case. */
  readonly header: (name: string) => string | undefined;
  /** It came by TLS, here or at a trusted proxy. */
  readonly isEncrypted: boolean;
  /** Aborts when the caller is gone or the server stops. */
  readonly signal: AbortSignal;
}

export interface Reply {
  readonly status: number;
  /** Nothing came of it, as of a long poll without news: by default it is not logged. */
  readonly isIdle?: boolean;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as it is, with this type. */
  readonly raw?: { readonly type: string; readonly bytes: Uint8Array };
  /** Lines of a stream that goes on until one side ends it. */
  readonly stream?: AsyncIterable<string>;
}

/** As history, audit and lease events name it. */
export function actorOf({ name, key }: Pick<Caller, 'name' | 'key'>): string {
  return key === undefined ? name : nameWithKey(name, key);
}

export function actingFor(caller: Caller): { readonly project: ProjectName; readonly by: string } {
  return { project: caller.project, by: actorOf(caller) };
}

export type Listener = 'main' | 'admin';

export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** With `:name` for parameters. */
  readonly path: string;
  /** The id of the operation: one verb, one noun. */
  readonly name: string;
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
  readonly handle: (coordinator: Coordinator, call: Call<never, never, never>) => Promise<Reply>;
}

type Of<Schema extends TSchema | undefined> = Schema extends TSchema ? Static<Schema> : undefined;

interface Parts<
  Params extends TSchema | undefined,
  Query extends TSchema | undefined,
  Body extends TSchema | undefined,
> {
  readonly params?: Params;
  readonly query?: Query;
  readonly body?: Body;
  readonly handle: (
    coordinator: Coordinator,
    call: Call<Of<Params>, Of<Query>, Of<Body>>,
  ) => Promise<Reply>;
}

/** The handler sees what the schemas say. */
export function route<
  Params extends TSchema | undefined = undefined,
  Query extends TSchema | undefined = undefined,
  Body extends TSchema | undefined = undefined,
>(spec: Omit<Route, 'params' | 'query' | 'body' | 'handle'> & Parts<Params, Query, Body>): Route {
  return spec as unknown as Route;
}

/** What does not parse as one of these is no answer of ours. */
export class ProblemReply extends Error {
  readonly status: number;
  readonly code: string;
  /** What the store said, for programs. */
  refusal: unknown;

  /** After how many seconds it may be asked again. */
  retryAfterS: number | undefined;

  constructor(status: number, code: string, detail: string) {
    super(detail);
    this.status = status;
    this.code = code;
  }
}
