// holdfast keys recover: for who has lost the key that makes keys. It asks no coordinator; what it needs is the
// store itself, and whoever can write to that may do everything anyway. It is on record (J-7).

import { hostname, userInfo } from 'node:os';
import { writeKey } from '../../access/access-key.ts';
import { describeAccessRefusal } from '../../access/refusal.ts';
import { ROLES } from '../../access/role.ts';
import { newKey } from '../../access/secret.ts';
import { inspectStore } from '../../embedded/inspect-store.ts';
import { openStore } from '../../embedded/open-store.ts';
import { stampOutside } from '../../engine/auditing.ts';
import { hidden } from '../../server/config.ts';
import type { CoordinatorStore } from '../../store/contract/execution-store.ts';
import { Fault } from '../../support/fault.ts';
import { type ExitCode, refuseWords, type Typed, type Verb } from '../command.ts';
import { configuredBy } from '../configuration.ts';
import { print, printLine, printProblem } from '../screen.ts';

export const recover: Verb = {
  usage:
    'holdfast keys recover --store postgres://… | --store ./holdfast.db [--reason "…"] [--json]   (on the store itself; no key is needed)',
  execute,
};

async function execute(typed: Typed): Promise<ExitCode> {
  refuseWords(recover, typed);
  const { config } = await configuredBy(typed);
  const place = String(hidden('store', config.store));
  // One that is not there would be made, and the key would open nothing that anybody uses.
  const { exists } = await inspectStore(config.store, config.postgres);
  if (!exists) {
    throw new Fault(
      'store-unknown',
      `There is no store at ${place}, so there is nothing to recover. Say which one the coordinator uses: --store, or HOLDFAST_STORE.`,
    );
  }
  const store = await openStore(config.store, config.postgres);
  try {
    const made = await added(store, typed.text('reason'));
    if (typed.isSet('json')) printLine(made);
    else {
      printProblem(
        `key ${made.id} was made in ${place}: it may do everything in all projects. It is shown only now; end it when you have made the keys that you need (holdfast keys revoke ${made.id}):`,
      );
      print(made.key);
    }
    return 0;
  } finally {
    await store.close();
  }
}

async function added(
  store: CoordinatorStore,
  reason = 'the keys of all projects were lost',
): Promise<{ readonly id: string; readonly key: string }> {
  const { id, secret, digest } = newKey();
  const by = `${userInfo().username}@${hostname()}`;
  const answer = await store.access.addKey({
    ...{ id, digest, name: 'recovered key', roles: ROLES, createdBy: by },
    audit: stampOutside('recover-key', { by, reason }),
  });
  if (answer.kind === 'refused') throw new Fault(answer.why, describeAccessRefusal(answer));
  return { id, key: writeKey({ id, secret }) };
}
