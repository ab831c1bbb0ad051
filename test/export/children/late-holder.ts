// Holds a lease and a claim, stops itself in the middle, and reports the outcome when it wakes.

import { writeSync } from 'node:fs';
import { Holdfast } from '../../../src/engine/holdfast.ts';
import { pipeline } from '../../../src/engine/pipeline.ts';
import { openSession } from '../../../src/lease/live-session.ts';
import { openAddressed, type StorePlace } from '../../load/place.ts';

const send = (what: object): void => {
  writeSync(1, `${JSON.stringify(what)}\n`);
};

const store = await openAddressed(JSON.parse(process.argv[2] ?? '{}') as StorePlace);
const session = await openSession({ store, owner: 'late', ttlMs: 1_000, graceMs: 0 });
const acquired = await session.acquire('orders/17');
if (acquired.kind !== 'acquired') throw new Error(JSON.stringify(acquired));
const { lease } = acquired;

const slow = pipeline({
  name: 'slow',
  run: (ctx, _: null) =>
    ctx.step('stop', async () => {
      await lease.checkpoint(new TextEncoder().encode('halfway'));
      send({ kind: 'stopping', fence: lease.fence });
      process.kill(process.pid, 'SIGSTOP');
      return 'done';
    }),
});

const holdfast = new Holdfast({ store, observer: { report: send } });
await holdfast.worker({ pipelines: [slow], ttlMs: 1_000, pollMs: 50 });
session.signal.addEventListener('abort', () => {
  const tried = store.leases.checkpoint({
    key: lease.key,
    fence: lease.fence,
    session: session.id,
    seq: 9,
    bytes: Uint8Array.of(1),
    digest: 'a'.repeat(64),
  });
  tried.then(
    (answer) => send({ kind: 'written', answer }),
    (fault: Error) => send({ kind: 'refused', message: fault.message }),
  );
});
// Last, because its worker claims with the submit and stops this process at once.
await holdfast.submit(slow, null);
