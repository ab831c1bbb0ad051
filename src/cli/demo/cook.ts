// A worker of the demo, in a process of its own: it can be frozen. What it needs of the world it asks its parent.

import { openStore } from '../../embedded/open-store.ts';
import { Holdfast } from '../../engine/holdfast.ts';
import { lineObserver } from '../../execution/report.ts';
import type { FromCook, Kitchen, ToCook } from './crew.ts';
import { type Outside, restaurantOrder } from './restaurant.ts';

const [kitchen = '{}', name = ''] = process.argv.slice(2);

const waiting = new Map<number, (answer: boolean) => void>();
let asked = 0;

function tell(message: FromCook): void {
  process.send?.(message);
}

function ask(what: 'settle' | 'refund', guest: string): Promise<boolean> {
  asked += 1;
  const n = asked;
  return new Promise((resolve) => {
    waiting.set(n, resolve);
    tell({ kind: 'asks', n, what, guest });
  });
}

const COOKING_MS = 800;

/**
 * The process stands still meanwhile. One that was frozen in it has its result at once when it wakes, and writes that
 * before it looks at its timers and learns that its lease lapsed.
 */
async function cooks(execution: string): Promise<void> {
  const message: FromCook = { kind: 'cooks', execution };
  await new Promise<void>((resolve) => {
    process.send?.(message, () => resolve());
  });
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, COOKING_MS);
}

const outside: Outside = {
  cooks,
  did: (execution, what) => tell({ kind: 'did', execution, what }),
  settles: (guest) => ask('settle', guest),
  refunds: (guest) => ask('refund', guest),
};

let watched: number | undefined;

process.on('message', (message: ToCook) => {
  if (message.kind === 'watch') {
    watched = message.pid;
    return;
  }
  waiting.get(message.n)?.(message.answer);
  waiting.delete(message.n);
});
// Nobody to work for: it ends, and so can the one that was frozen.
process.on('disconnect', () => {
  if (watched !== undefined) {
    try {
      process.kill(watched, 'SIGCONT');
    } catch {
      // It is gone.
    }
  }
  process.exit(0);
});
// Ctrl-C reaches the whole group: the parent says when it is over.
process.on('SIGINT', () => undefined);

const TTL_MS = 3_000;

const { store: place, postgres } = JSON.parse(kitchen) as Kitchen;
const store = await openStore(place, postgres);
const holdfast = new Holdfast({
  store,
  observer: lineObserver((line) => tell({ kind: 'reports', line })),
});
const pipelines = [restaurantOrder(outside)];
const worker = await holdfast.worker({ pipelines, owner: name, ttlMs: TTL_MS, pollMs: 250 });
tell({ kind: 'ready', session: worker.session });

process.on('SIGTERM', () => {
  void holdfast
    .close()
    .then(() => store.close())
    .then(() => process.exit(0));
});
