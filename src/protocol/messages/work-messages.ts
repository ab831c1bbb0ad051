// The worker protocol: a list of messages, each a request with one reply. What carries them (HTTP, gRPC, a
// queue, a call) may lose, double, delay and reorder them: a write is known by execution, fence and seq, a
// session by its id, a blob by its digest, and what a claim took is found by asking. So no message
// harms when it comes twice or late.

import { type TObject, type TProperties, Type } from 'typebox';
import { announceBody } from '../../features/releases/messages.ts';
import { idParams } from './execution.ts';
import { CLOSED } from './words.ts';
import {
  bellQuery,
  claimBody,
  claimsQuery,
  digestParams,
  endSessionBody,
  greetQuery,
  heartbeatBody,
  inboxQuery,
  interactionParams,
  openSessionBody,
  sessionParams,
  writesBody,
} from './work.ts';

export interface WorkMessage {
  /** All that it says, in one object. */
  readonly body: TObject;
  /** Its having been done unseen harms nobody. */
  readonly isRead?: boolean;
  /** Held open until there is something to say. */
  readonly isLong?: boolean;
  /** Bytes go with it, or come back. */
  readonly bytes?: 'sent' | 'answered';
  /** Where it is over HTTP. Names in the path are of the body; the rest is its body, or its query for GET. */
  readonly method: 'GET' | 'POST' | 'PUT';
  readonly path: string;
}

function both<One extends TProperties, Other extends TProperties>(
  one: TObject<One>,
  other: TObject<Other>,
): TObject<One & Other> {
  return Type.Object({ ...one.properties, ...other.properties }, CLOSED) as never;
}

function message<Spec extends WorkMessage>(spec: Spec): Spec {
  return spec;
}

const page = { method: 'GET', isRead: true, body: both(idParams, inboxQuery) } as const;

export const WORK_MESSAGES = {
  greet: message({ method: 'GET', path: '/v1/work', isRead: true, body: greetQuery }),
  openSession: message({ method: 'POST', path: '/v1/work/sessions', body: openSessionBody }),
  heartbeat: message({
    method: 'POST',
    path: '/v1/work/sessions/:id/heartbeat',
    body: both(sessionParams, heartbeatBody),
  }),
  endSession: message({
    method: 'POST',
    path: '/v1/work/sessions/:id/end',
    body: both(sessionParams, endSessionBody),
  }),
  waitForBell: message({
    method: 'GET',
    path: '/v1/work/bell',
    isRead: true,
    isLong: true,
    body: bellQuery,
  }),
  claimExecutions: message({ method: 'POST', path: '/v1/work/claims', body: claimBody }),
  announceWorker: message({ method: 'POST', path: '/v1/work/announcements', body: announceBody }),
  listClaims: message({
    method: 'GET',
    path: '/v1/work/sessions/:id/claims',
    isRead: true,
    body: both(sessionParams, claimsQuery),
  }),
  writeAsOwner: message({ method: 'POST', path: '/v1/work/writes', body: writesBody }),
  readInbox: message({ ...page, path: '/v1/work/executions/:id/inbox' }),
  readStoredHistory: message({ ...page, path: '/v1/work/executions/:id/history' }),
  readStoredExecution: message({
    method: 'GET',
    path: '/v1/work/executions/:id',
    isRead: true,
    body: idParams,
  }),
  readStoredAwait: message({
    method: 'GET',
    path: '/v1/work/awaits/:id',
    isRead: true,
    body: interactionParams,
  }),
  expireAwaits: message({
    method: 'POST',
    path: '/v1/work/executions/:id/expire-awaits',
    body: idParams,
  }),
  putBlob: message({
    method: 'PUT',
    path: '/v1/work/blobs/:digest',
    bytes: 'sent',
    body: digestParams,
  }),
  getBlob: message({
    method: 'GET',
    path: '/v1/work/blobs/:digest',
    isRead: true,
    bytes: 'answered',
    body: digestParams,
  }),
} as const satisfies Readonly<Record<string, WorkMessage>>;

export type WorkKind = keyof typeof WORK_MESSAGES;

export const WORK_KINDS: readonly WorkKind[] = Object.keys(WORK_MESSAGES) as WorkKind[];

export function workMessage(kind: WorkKind): WorkMessage {
  return WORK_MESSAGES[kind];
}

export function isWorkKind(kind: string): kind is WorkKind {
  return Object.hasOwn(WORK_MESSAGES, kind);
}
