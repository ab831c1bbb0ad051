// A worker of the demo, in its own process so that it can be frozen. It asks its parent process for the bank's
// answers.

import { openStore } from '../../embedded/open-store.ts';
import { Holdfast } from '../../engine/holdfast.ts';
import { lineObserver } from '../../execution/report.ts';
import type { FromCook, Kitchen, ToCook } from './crew.ts';
import { type Outside, restaurantOrder } from './restaurant.ts';

const [kitchen = '{}', name = ''] = process.argv.slice(2);

const waiting = new Map<number, (answer: boolean) => void>();
let count = 0;

function send(message: FromCook): void {
  process.send?.(message);
}

function request(what: 'settle' | 'refund', guest: string): Promise<boolean> {
  count += 1;
  const n = count;
  return new Promise((resolve) => {
    waiting.set(n, resolve);
    send({ kind: 'asks', n, what, guest });
  });
}

const COOKING_MS = 800;

/**
 * Blocks the process. A worker frozen in it has its result as soon as it resumes. It writes the
 * result before its timers fire and show that its lease lapsed.
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
  did: (execution, what) => send({ kind: 'did', execution, what }),
  settles: (guest) => request('settle', guest),
  refunds: (guest) => request('refund', guest),
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
// The parent is gone: exit, and resume the frozen worker so that it can exit too.
process.on('disconnect', () => {
  if (watched !== undefined) {
    try {
      process.kill(watched, 'SIGCONT');
    } catch {
      // The frozen process has exited already.
    }
  }
  process.exit(0);
});
// Ctrl-C reaches the whole process group. Ignore it: the parent sends SIGTERM.
process.on('SIGINT', () => undefined);

const TTL_MS = 3_000;

const { store: place, postgres } = JSON.parse(kitchen) as Kitchen;
const store = await openStore(place, postgres);
const holdfast = new Holdfast({
  store,
  observer: lineObserver((level, line) => send({ kind: 'reports', level, line })),
});
const pipelines = [restaurantOrder(outside)];
const worker = await holdfast.worker({ pipelines, owner: name, ttlMs: TTL_MS, pollMs: 250 });
send({ kind: 'ready', session: worker.session });

process.on('SIGTERM', () => {
  void holdfast
    .close()
    .then(() => store.close())
    .then(() => process.exit(0));
});
