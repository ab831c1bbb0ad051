// A node of a service: it registers, and on request it watches the others and reports what it sees.

import type { LeasePolicy, LeaseService, Session } from '../../../src/index.ts';
import { registry } from '../../../src/recipes/index.ts';
import { emit, serveCalls } from '../../processes/children/serve-calls.ts';
import { openStoreAt, type StoreAddress } from '../../processes/stage/store-address.ts';

export interface Connect {
  readonly store: StoreAddress;
  readonly policy: Partial<LeasePolicy>;
}

export interface Register {
  readonly owner: string;
  readonly ttlMs: number;
  readonly graceMs: number;
  readonly metadata?: Readonly<Record<string, string>>;
}

/** Sent with the event `change`. */
export interface Change {
  readonly kind: string;
  readonly owner: string;
  readonly zone: string | undefined;
}

export interface NodeApi {
  connect(input: Connect): Promise<void>;
  register(input: Register): Promise<void>;
  /** Returns at once; sends every change as it sees it. */
  watch(input: null): Promise<void>;
  list(input: { readonly gone: boolean }): Promise<readonly string[]>;
  leave(input: null): Promise<void>;
}

const POLL_MS = 25;

let store: LeaseService | undefined;
const sessions: Session[] = [];

function nodes() {
  if (store === undefined) throw new Error('connect first');
  return registry({ store, service: 'nodes' });
}

async function watch(): Promise<void> {
  for await (const { kind, member } of nodes().watch({ pollMs: POLL_MS })) {
    const { owner, metadata } = member;
    await emit('change', { kind, owner, zone: metadata['zone'] } satisfies Change);
  }
}

serveCalls<NodeApi>({
  async connect({ store: address, policy }) {
    store = await openStoreAt(address, policy);
  },
  async register(options) {
    sessions.push(await nodes().register(options));
  },
  watch: () => void watch(),
  async list(options) {
    const members = await nodes().list(options);
    return members.map(({ owner, state }) => `${owner} ${state}`);
  },
  async leave() {
    for (const session of sessions) await session.close();
  },
});
