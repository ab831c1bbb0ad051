// A process that calls the store's own verbs. On request it dies by SIGKILL in the critical moment:
// after the store has committed, and before the caller gets the answer.

import type { LeaseService, LeaseStore, SessionStore } from '../../../src/index.ts';
import { openStoreAt, type StoreAddress } from '../stage/store-address.ts';
import { serveCalls } from './serve-calls.ts';

export type Verb = 'acquire' | 'checkpoint' | 'beginIntent' | 'release' | 'endSession';

export interface PortClientApi {
  connect(address: StoreAddress): Promise<void>;
  /** From now on the process does not survive this verb. */
  dieAfter(verb: Verb): Promise<void>;
  openSession: SessionStore['open'];
  heartbeat: SessionStore['heartbeat'];
  endSession: SessionStore['end'];
  acquire: LeaseStore['acquire'];
  checkpoint: LeaseStore['checkpoint'];
  beginIntent: LeaseStore['beginIntent'];
  release: LeaseStore['release'];
}

let opened: LeaseService | undefined;
let deadly: Verb | undefined;

function store(): LeaseService {
  if (opened === undefined) throw new Error('connect first');
  return opened;
}

async function committed<Answer>(verb: Verb, answer: Promise<Answer>): Promise<Answer> {
  const value = await answer;
  if (verb !== deadly) return value;
  process.kill(process.pid, 'SIGKILL');
  return new Promise(() => undefined);
}

serveCalls<PortClientApi>({
  async connect(address) {
    opened = await openStoreAt(address);
  },
  dieAfter(verb) {
    deadly = verb;
  },
  openSession: (request) => store().sessions.open(request),
  heartbeat: (request) => store().sessions.heartbeat(request),
  endSession: (request) => committed('endSession', store().sessions.end(request)),
  acquire: (request) => committed('acquire', store().leases.acquire(request)),
  checkpoint: (request) => committed('checkpoint', store().leases.checkpoint(request)),
  beginIntent: (request) => committed('beginIntent', store().leases.beginIntent(request)),
  release: (request) => committed('release', store().leases.release(request)),
});
