// A route is an operation with its handler.

import type { Holdfast } from '../../engine/holdfast.ts';
import type { ProjectName } from '../../execution/names.ts';
import { nameWithKey, type Role } from '../../features/access/model.ts';
import type { Alerts } from '../../features/channels/alerts-duty.ts';
import type { Deliveries } from '../../features/channels/delivery-duty.ts';
import type { ChannelSettings } from '../../features/channels/signing-api.ts';
import type { LeaseHints } from '../../features/leases/hints-routes.ts';
import type { InputContracts } from '../../features/releases/input-api.ts';
import type { CoordinatorStore } from '../../store/contract/execution-store.ts';
import type { Clock } from '../../support/clock.ts';
import { type Code, statusOf } from '../../support/codes/catalogue.ts';
import type { Random } from '../../support/random.ts';
import type { Timers } from '../../support/timer.ts';
import type { ByteTurns, FairShares, Turns } from '../../support/turns.ts';
import type { AdviceRequest, AdvisedMessage } from '../messages/advice.ts';
import type { DemoMessage, Scene } from '../messages/coordinator.ts';
import type { Method, Operation, Operations, Part } from '../messages/operation.ts';
import type { AnnouncedPipelines } from './announced-pipelines.ts';
import type { HeartbeatHistory } from './heartbeat-history.ts';
import type { HistorySizes } from './history-sizes.ts';
import type { ClaimsBehind } from './waiting-claims.ts';
import type { FairWakeups, WaitingHints } from './wakeups.ts';

/** The demo of `holdfast dev`. */
export interface Demo {
  read(): DemoMessage;
  /** Continues by itself; `read` returns the progress. */
  play(scene: Scene): void;
}

/** Reads nothing if the signal aborts while the project has not paid. */
export type Download = <Bytes extends Uint8Array | undefined>(
  of: { readonly project: ProjectName; readonly signal?: AbortSignal },
  read: () => Promise<Bytes>,
) => Promise<Bytes>;

/** Runs a read for a project, which pays for its time. */
export type PaidRead = <Found>(project: ProjectName, read: () => Promise<Found>) => Promise<Found>;

/** The parts that a coordinator's handlers use. */
export interface Coordinator {
  readonly holdfast: Holdfast;
  readonly store: CoordinatorStore;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Pick<Random, 'next'>;
  readonly hints: WaitingHints;
  /** Hints that keys of leases may be free. */
  readonly leaseHints: LeaseHints;
  /** Wakes waiting requests, a few of each project at once. */
  readonly wakeups: FairWakeups;
  /** The same, but only if an execution may have become ready. */
  readonly readiness: FairWakeups;
  /** Every request takes a part of its project's share, whatever transport it uses. */
  readonly shares: FairShares;
  readonly claimTurns: Turns;
  readonly sessionTurns: Turns;
  readonly leaseTurns: Turns;
  /** The large responses that callers have not read, by project, over all transports. */
  readonly unread: ByteTurns;
  /** The largest value that one response may have. */
  readonly downloadBytesMax: number;
  /** For reads whose cost depends on the rows in the store. */
  readonly paid: PaidRead;
  /** The same, in turns. Do not nest it: its turns are few. */
  readonly search: PaidRead;
  /** Reads a large value when its project has paid for the last one. */
  readonly download: Download;
  /** The claims that a submit of this process may take along. */
  readonly claimsBehind: ClaimsBehind;
  readonly announced: AnnouncedPipelines;
  readonly inputs: InputContracts;
  /** The most names and values in one JSON message. */
  readonly jsonValuesMax: number;
  /** The heartbeats of sessions that this coordinator observed. */
  readonly heartbeats: HeartbeatHistory;
  /** Limits the history that workers write for one execution. */
  readonly histories: HistorySizes;
  readonly auth: 'keys' | 'off';
  /** This coordinator can create and check answer links. */
  readonly hasLinks: boolean;
  /** Secrets and addresses of channels; absent if this coordinator has no keys for them. */
  readonly channels?: ChannelSettings & {
    readonly deliveries: Deliveries;
    readonly alerts: Alerts;
  };
  readonly hasArchive: boolean;
  /** The main listener has the admin routes too. */
  readonly hasAdmin: boolean;
  /** Only in `holdfast dev`. */
  readonly demo?: Demo;
  /** Recommends lease settings from goals and measurements. */
  readonly advise: (request: AdviceRequest) => AdvisedMessage;
  /** For one project, or for all; absent if this coordinator counts nothing. */
  readonly metrics?: (
    project?: ProjectName,
  ) => Promise<{ readonly type: string; readonly text: string }>;
  /** Reports faults inside a batch, whose response is otherwise a success. */
  readonly onFault?: (code: Code, error: unknown) => void;
}

/** The caller, as the server identified it. */
export interface Caller {
  /** The id of the key; absent without authentication. */
  readonly key?: string;
  readonly name: string;
  readonly project: ProjectName;
  /** True if the caller may reach resources of any project and of none. */
  readonly isOfAll: boolean;
  readonly roles: ReadonlySet<Role>;
}

export interface RouteCall<Params, Query, Body> {
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  readonly caller: Caller;
  /** Reads one of the few headers that routes use, in lower case. */
  readonly header: (name: string) => string | undefined;
  /** The request came by TLS, here or at a trusted proxy. */
  readonly isEncrypted: boolean;
  /** Aborts when the caller is gone or the server stops. */
  readonly signal: AbortSignal;
}

export interface Reply {
  readonly status: number;
  /**
   * Nothing happened, as in a long poll without a wakeup. By default the server does not log it.
   */
  readonly isIdle?: boolean;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent unchanged, with this type. */
  readonly raw?: { readonly type: string; readonly bytes: Uint8Array };
  /** The connection becomes a stream of messages. */
  readonly isUpgrade?: boolean;
  /** Lines of a stream that continues until one side ends it. */
  readonly stream?: AsyncIterable<string>;
}

/** The actor's name in history, audit and lease events. */
export function actorOf({ name, key }: Pick<Caller, 'name' | 'key'>): string {
  return key === undefined ? name : nameWithKey(name, key);
}

export function operationFor(caller: Caller): {
  readonly project: ProjectName;
  readonly actor: string;
} {
  return { project: caller.project, actor: actorOf(caller) };
}

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

/** A page of a list or a claim costs as much as several small requests. */
const PAGE_WEIGHT = 4;
const CLAIM_WEIGHT = 8;
const SEARCH_WEIGHT = 16;

/** The share of a project. A project may have any name, so each kind of share has a prefix. */
export function projectShare(project: ProjectName): string {
  return `project ${project}`;
}

/** The share of requests without a project: public ones, refused ones and unknown routes. */
export function networkShare(network: string): string {
  return `network ${network}`;
}

/**
 * The name whose share a request takes: its project. Heartbeats have a share of their own, so that a
 * project's large bodies cannot end its sessions.
 */
export function shareNameOf(name: string, project: ProjectName): string {
  return name === 'heartbeat' ? `heartbeats of ${project}` : projectShare(project);
}

/** True if the server may hold this request open. `fields`: its query and its body. */
export function isHeld({ isLong }: Pick<Operation, 'isLong'>, fields: unknown): boolean {
  if (isLong !== 'with-wait') return isLong === true;
  const { waitMs } = Object(fields) as { readonly waitMs?: unknown };
  return typeof waitMs === 'number' && waitMs > 0;
}

interface Weighed extends Pick<Operation, 'isSearch'> {
  readonly name: string;
  readonly query?: object | undefined;
  /** The schema of the reply. */
  readonly reply?: object | undefined;
}

/** The parameters of a list that are not filters. */
const PAGING: ReadonlySet<string> = new Set(['after', 'cursor', 'limit']);

/** The part of its project's share that a request takes. */
export function weightOf({ name, isSearch, query, reply }: Weighed): number {
  if (name === 'claimExecutions') return CLAIM_WEIGHT;
  if (isSearch === true) return SEARCH_WEIGHT;
  if (!namesIn(reply).includes('items')) return 1;
  // A page may check 10,000 rows and find none.
  return namesIn(query).every((each) => PAGING.has(each)) ? PAGE_WEIGHT : SEARCH_WEIGHT;
}

function namesIn(schema: object | undefined): readonly string[] {
  return Object.keys((schema as { readonly properties?: object } | undefined)?.properties ?? {});
}

/** The schemas type the arguments of a handler. */
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

/** A caller that closed its connection while it waited must cost nothing more. It is never sent. */
export function callerGone(): ProblemReply {
  return new ProblemReply('caller-gone', 'The caller closed the connection. Nothing was done.');
}

/** Only reads are refused, because a refused write would have had its effect. */
export function tooMuchUnread(): ProblemReply {
  const reply = new ProblemReply(
    'too-many-open',
    'The callers of this project have not read the large responses that they asked for. Nothing was done. Read those first, or ask for fewer at once.',
  );
  reply.retryAfterS = 1;
  return reply;
}

/** A problem as an exception. The server turns it into the response. */
export class ProblemReply extends Error {
  readonly status: number;
  readonly code: Code;
  /** The store's refusal, for programs. */
  refusal: unknown;

  retryAfterS: number | undefined;

  constructor(code: Code, detail: string, status: number = statusOf(code)) {
    super(detail);
    this.status = status;
    this.code = code;
  }
}
