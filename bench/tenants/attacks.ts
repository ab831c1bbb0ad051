// Attacks by a tenant that has keys of every role. Each one loads a shared part of the coordinator with
// valid requests.

import { randomBytes, randomUUID } from 'node:crypto';
import { digestOf } from '../../src/support/digest.ts';
import type { Caller } from '../coordinator/caller.ts';

export interface Attack {
  /** The shared part that it loads. */
  readonly name: string;
  /** How many requests run at the same time. */
  readonly inFlight: number;
  /** Runs before each round. */
  begin?(tenant: Caller): Promise<void>;
  /** Runs repeatedly. The coordinator may refuse it. */
  operation?(tenant: Caller, nth: number): Promise<unknown>;
  /** Runs after each round. */
  end?(tenant: Caller): Promise<void>;
}

const SCHEDULES = 200;
const SESSIONS = 50;
const VALUE_BYTES = 256 * 1024;
const UNKNOWN = randomUUID();

async function openSession(tenant: Caller, ttlMs: number): Promise<string> {
  const session = { id: randomUUID(), owner: 'hostile', ttlMs, graceMs: 0 };
  const { status, body } = await tenant.call('POST', '/v1/work/sessions', JSON.stringify(session));
  if (status !== 200) throw new Error(`Opening a session returned ${status}: ${body}`);
  return session.id;
}

function claim(tenant: Caller, session: string): Promise<unknown> {
  const shares = [{ lane: 'interactive', limit: 250 }];
  const body = { session, pipelines: ['timed', 'hostile'], shares };
  return tenant.call('POST', '/v1/work/claims', JSON.stringify(body));
}

function submit(tenant: Caller): Promise<unknown> {
  return tenant.call('POST', '/v1/executions', '{"pipeline":"hostile"}');
}

function eachSchedule(operation: (id: string) => Promise<unknown>): Promise<unknown> {
  return Promise.all(Array.from({ length: SCHEDULES }, (_, nth) => operation(`s${nth}`)));
}

let sessions: readonly string[] = [];
let followed = '';

async function openSessions(tenant: Caller): Promise<void> {
  sessions = await Promise.all(
    Array.from({ length: SESSIONS }, () => openSession(tenant, 600_000)),
  );
}

const someSession = (nth: number): string => sessions[nth % sessions.length] ?? '';

export const ATTACKS: readonly Attack[] = [
  { name: 'submits', inFlight: 32, operation: submit },
  {
    name: 'claims',
    inFlight: 32,
    begin: openSessions,
    operation: (tenant, nth) => claim(tenant, someSession(nth)),
  },
  {
    name: 'heartbeats',
    inFlight: 32,
    begin: openSessions,
    operation: (tenant, nth) =>
      tenant.call('POST', `/v1/work/sessions/${someSession(nth)}/heartbeat`, '{"owner":"hostile"}'),
  },
  {
    // Refused at once, so only the shared process limits their rate.
    name: 'refused requests',
    inFlight: 32,
    operation: (tenant) =>
      tenant.call('POST', `/v1/work/sessions/${UNKNOWN}/heartbeat`, '{"owner":"hostile"}'),
  },
  {
    // The sessions claim work and expire, so that the coordinator must take it back.
    name: 'sessions that die',
    inFlight: 8,
    async operation(tenant) {
      await submit(tenant);
      await claim(tenant, await openSession(tenant, 100));
    },
  },
  {
    name: 'long polls',
    inFlight: 1_000,
    operation: (tenant) => tenant.call('GET', '/v1/work/wakeup?waitMs=20000'),
  },
  {
    name: 'streams',
    inFlight: 200,
    begin: async (tenant) => {
      const { body } = await tenant.call('POST', '/v1/executions', '{"pipeline":"hostile"}');
      followed = (JSON.parse(body) as { id: string }).id;
    },
    operation: (tenant) => tenant.call('GET', `/v1/executions/${followed}/events`),
  },
  {
    name: 'schedules',
    inFlight: 0,
    begin: async (tenant) => {
      const body = JSON.stringify({ every: 100, pipeline: 'hostile', overlap: 'allow' });
      await eachSchedule((id) => tenant.call('PUT', `/v1/schedules/${id}`, body));
    },
    end: async (tenant) => {
      await eachSchedule((id) => tenant.call('DELETE', `/v1/schedules/${id}`));
    },
  },
  {
    name: 'large values',
    inFlight: 8,
    operation(tenant) {
      const bytes = randomBytes(VALUE_BYTES);
      return tenant.call('PUT', `/v1/work/blobs/${digestOf(bytes)}`, bytes);
    },
  },
  {
    name: 'lists',
    inFlight: 8,
    operation: (tenant) => tenant.call('GET', '/v1/executions?limit=1000'),
  },
];
