// A route is an operation with its handler.

import type { Holdfast } from '../../engine/holdfast.ts';
import type { ProjectName } from '../../execution/names.ts';
import { nameWithKey, type Role } from '../../features/access/model.ts';
import type { CoordinatorStore } from '../../store/contract/execution-store.ts';
import type { Clock } from '../../support/clock.ts';
import type { Timers } from '../../support/timer.ts';
import type { FairShares, Turns } from '../../support/turns.ts';
import type { AdviceAsked, AdvisedMessage } from '../messages/advice.ts';
import type { DemoMessage, Scene } from '../messages/coordinator.ts';
import type { Method, Operation, Operations, Part } from '../messages/operation.ts';
import type { AnnouncedPipelines } from './announced-pipelines.ts';
import type { FairBell, WaitingHints } from './bells.ts';
import type { HistorySizes } from './history-sizes.ts';

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
  readonly hints: WaitingHints;
  /** Wakes those who wait, a few of each project at once. */
  readonly bell: FairBell;
  /** Every request takes a part of its project's share, however it arrives. */
  readonly shares: FairShares;
  readonly claimTurns: Turns;
  readonly announced: AnnouncedPipelines;
  /** Bounds what workers write to one execution. */
  readonly histories: HistorySizes;
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

export interface RouteCall<Params, Query, Body> {
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

/** An operation, and what answers it. */
export interface Route extends Operation {
  /** The id of the operation. */
  readonly name: string;
  readonly method: Method;
  readonly path: string;
  readonly handle: (
    coordinator: Coordinator,
    call: RouteCall<never, never, never>,
  ) => Promise<Reply>;
}

/** A handler sees what the schemas say. */
export type Handler<Of extends Operation> = (
  coordinator: Coordinator,
  call: RouteCall<Part<Of, 'params'>, Part<Of, 'query'>, Part<Of, 'body'>>,
) => Promise<Reply>;

export function routesOf<Table extends Operations>(
  table: Table,
  handlers: { readonly [Name in keyof Table]: Handler<Table[Name]> },
): readonly Route[] {
  return Object.entries(table).map(([name, operation]) => {
    const [method, path = ''] = operation.at.split(' ') as [Method, string];
    const handle = handlers[name as keyof Table] as Route['handle'];
    return { ...operation, name, method, path, handle };
  });
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
