import { type ContractBackend, ManualClock } from '../../contract/index.ts';
import { parseSessionId } from '../../src/lease/names.ts';
import type { KernelStore } from '../../src/lease/port.ts';
import { openEtcdStore } from '../../src/store/etcd/open.ts';
import { toInstant } from '../../src/support/clock.ts';
import { durableHarness } from './durable-harness.ts';
import { RawEtcd } from './raw-etcd.ts';

/** An unknown session, for a read that finds nothing. */
const UNKNOWN_SESSION = parseSessionId('00000000-0000-0000-0000-000000000000');

/** Far longer than any case. The harness does what etcd would do in the case's time. */
const LEASE_SECONDS = 3_600;

interface Session {
  readonly id: string;
  readonly ttlMs: number;
  readonly beatAt: number;
}

/**
 * One prefix per case. All clients share one clock, which stands still until the case moves it.
 * Native leases follow etcd's own clock, which a test cannot move. So the harness revokes a native
 * lease when the case's time passes its end, as etcd itself would.
 */
export function etcdBackend(place: {
  readonly endpoints: readonly string[];
  readonly prefix: string;
}): ContractBackend {
  const raw = new RawEtcd(place.endpoints);
  let cases = 0;
  return {
    offers: ['durable', 'two-clients', 'server'],
    async open(policy) {
      cases += 1;
      const prefix = `${place.prefix}case-${cases}/`;
      const clock = new ManualClock();
      const clients = new Set<KernelStore>();
      return durableHarness({
        async openClient() {
          const store = await openEtcdStore({
            endpoints: place.endpoints,
            prefix,
            clock,
            policy,
            leaseSecondsMin: LEASE_SECONDS,
          });
          clients.add(store);
          const close = async (): Promise<void> => {
            clients.delete(store);
            await store.close();
          };
          return { ...store, close };
        },
        async advance(ms) {
          // Time stands still until every client has received all watch events.
          await Promise.all([...clients].map((client) => client.sessions.inspect(UNKNOWN_SESSION)));
          await clock.advance(ms);
          await giveUpSessions(raw, prefix, clock.wallMs());
        },
        now: () => toInstant(clock.wallMs()),
        // For the store, a cluster after an election has another term, and a cluster restored
        // elsewhere is another cluster.
        async restarted(how) {
          const [seen] = await raw.list(`${prefix}meta/cluster`);
          const { cluster, term } = JSON.parse(seen?.value ?? '') as Record<string, unknown>;
          const before =
            how === 'elsewhere' ? { cluster: '1', term } : { cluster, term: Number(term) - 1 };
          await raw.put(`${prefix}meta/cluster`, JSON.stringify(before));
        },
        dispose: () => raw.deleteBelow(prefix),
      });
    },
  };
}

/** Counts like etcd, in whole seconds since the last renewal. */
async function giveUpSessions(raw: RawEtcd, prefix: string, now: number): Promise<void> {
  for (const { value } of await raw.list(`${prefix}live/`)) {
    const { id, ttlMs, beatAt } = JSON.parse(value) as Session;
    const [pulse] = await raw.list(`${prefix}w/pulse/${id}`);
    const givenMs = Math.ceil(ttlMs / 1_000) * 1_000;
    if (pulse !== undefined && beatAt + givenMs <= now) await raw.revokeLease(pulse.lease);
  }
}
