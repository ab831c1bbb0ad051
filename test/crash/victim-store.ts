// The store of a victim, which kills its process at one commit: before it is sent, or after it is
// durable and before the answer.

import type { CoordinatorStore } from '../../src/store/contract/execution-store.ts';

export interface VictimArgs {
  readonly store: { readonly kind: 'sqlite' | 'postgres'; readonly place: string };
  /** The number of the commit. Absent: never. */
  readonly dieAt?: { readonly phase: 'before' | 'after'; readonly n: number };
}

export async function openVictimStore({ store, dieAt }: VictimArgs): Promise<{
  readonly store: CoordinatorStore;
  readonly commits: () => number;
}> {
  let commits = 0;
  const onBoundary = (phase: 'before' | 'after', n: number): void => {
    commits = n;
    if (dieAt === undefined || dieAt.phase !== phase || dieAt.n !== n) return;
    process.kill(process.pid, 'SIGKILL');
    // The signal is on its way. Nothing may happen before it arrives.
    for (;;);
  };
  return { store: await open(store, onBoundary), commits: () => commits };
}

async function open(
  { kind, place }: VictimArgs['store'],
  onBoundary: (phase: 'before' | 'after', n: number) => void,
): Promise<CoordinatorStore> {
  const policy = { ttlMsMin: 100 };
  if (kind === 'sqlite') {
    const { openSqliteStore } = await import('../../src/store/sqlite/open.ts');
    return openSqliteStore({ file: place, policy, onBoundary });
  }
  const { openPostgresStore } = await import('../../src/store/postgres/open.ts');
  const url = new URL(place);
  const schema = url.hash.slice(1);
  url.hash = '';
  return openPostgresStore({ url: url.href, schema, policy, onBoundary, connectionsMax: 4 });
}
