// `openCoordinator`: a coordinator as a store of leases, for sessions, recipes and watchers.

import type { LeaseService } from '../lease/port.ts';
import { Fault } from '../support/fault.ts';
import { readOptions, wordsIn } from '../support/options.ts';
import { systemTimers } from '../support/timer.ts';
import { type ConnectionOptions, checkConnectionOptions, transportTo } from './connection.ts';
import { greet } from './greet.ts';
import { type Hinted, remoteLeases } from './remote-leases.ts';

export type { LeaseService } from '../lease/port.ts';

/** Options of `openCoordinator`. */
export interface CoordinatorOptions extends ConnectionOptions {
  /** An access key with role `lease`. Not needed if authentication is off. */
  readonly key?: string;
  /** Milliseconds to wait for a coordinator that cannot be reached. Default 10,000. */
  readonly connectMs?: number;
}

const NAMES: readonly (keyof CoordinatorOptions)[] = wordsIn(
  'url transport key project stream connectMs',
);
const CONNECT_MS = 10_000;

/**
 * Opens the leases of a coordinator. Pass the result as `store` to `openSession`, recipes and
 * `watchLeases`, as you would an embedded store. Close it when your sessions have ended.
 *
 * Throws `InvalidInput` for invalid options, `StoreUnavailable` if no coordinator responds within
 * `connectMs`, and a `Fault` with the coordinator's code if it refuses the key.
 *
 * @example
 * import { openSession } from 'holdfast';
 *
 * const store = await openCoordinator({ url: 'http://127.0.0.1:7433' });
 * const session = await openSession({ store, owner: 'billing@host-3' });
 * await session.close();
 * await store.close();
 */
export async function openCoordinator(given: CoordinatorOptions): Promise<LeaseService> {
  const options = readOptions('openCoordinator', given, NAMES);
  checkConnectionOptions('openCoordinator', options);
  const { connectMs = CONNECT_MS, ...connection } = options;
  const transport = transportTo(connection);
  const timers = systemTimers;
  try {
    const hello = await greet(transport, { timers, observer: undefined, connectMs });
    if (hello.leases !== true) throw new Fault('version-unknown', TOO_OLD);
    // Fails at once if the key lacks the role. A key of a worker may only hold leases.
    await transport.request({ kind: 'listProjectLeases', body: { limit: 1 } });
    const hinted = await transport.request<Hinted>({ kind: 'waitForLeaseHint', body: {} });
    const address =
      connection.transport === undefined
        ? { address: { module: import.meta.url, open: openCoordinator.name, options } }
        : {};
    return remoteLeases({ transport, hello, hinted, timers, ...address });
  } catch (fault) {
    await transport.close();
    throw fault;
  }
}

const TOO_OLD =
  'This coordinator offers no leases: its build is older than this one. Nothing was opened. Upgrade the coordinator.';
