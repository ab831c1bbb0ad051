// `npm run demo`: a worker is frozen in the middle of its work, replaced, and thawed. The demo runs this
// twice, with a ledger that checks fences and with one that does not. It needs no service: it uses two
// processes, and SQLite files for leases and ledger in a temporary folder.
//
// It exits with 0 only if everything happens as described.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import {
  EXIT_ADVICE,
  formatFence,
  type KernelStore,
  parseFence,
  parseLeaseKey,
  watchLeases,
} from 'holdfast';
import { openSqliteStore } from 'holdfast/store/sqlite';
import { Actor } from './actor.ts';
import { Ledger, type Payment } from './ledger.ts';
import { FATAL_INVOICE, INVOICES, KEY, TTL_MS } from './messages.ts';
import { Narrator } from './narrator.ts';

const STORY_MS_MAX = 60_000;

interface Participants {
  readonly store: KernelStore;
  readonly a: Actor;
  readonly b: Actor;
  readonly ledger: Ledger;
}

const narrator = new Narrator();
const folder = mkdtempSync(join(tmpdir(), 'holdfast-frozen-worker-'));
const actors: Actor[] = [];

function mustBe(isSo: boolean, what: string): void {
  if (!isSo) throw new Error(`The demo failed. Expected: ${what}.`);
}

async function play(name: string, checksFences: boolean): Promise<readonly Payment[]> {
  const storeFile = join(folder, `${name}-leases.db`);
  const ledgerFile = join(folder, `${name}-ledger.db`);
  const store = await openSqliteStore({ file: storeFile });
  const ledger = new Ledger(ledgerFile, checksFences);
  const a = new Actor({ name: 'A', storeFile, ledgerFile, checksFences });
  const b = new Actor({ name: 'B', storeFile, ledgerFile, checksFences });
  actors.push(a, b);
  await Promise.all([a.next('ready'), b.next('ready')]);
  const participants = { store, a, b, ledger };
  await begin(participants);
  await freeze(participants);
  await takeOver(participants);
  await thaw(participants, checksFences);
  b.resume();
  await b.next('paid');
  await b.next('finished');
  narrator.line('B', `paid invoice ${INVOICES} and released "${KEY}" as finished`);
  const payments = ledger.payments();
  showLedger(payments);
  await Promise.all([a.end(), b.end()]);
  ledger.close();
  await store.close();
  return payments;
}

async function begin({ a, b }: Participants): Promise<void> {
  a.resume();
  const { fence, exit } = await a.next('acquired');
  mustBe(exit === 'none', 'no worker held the lease before A');
  narrator.line('A', `acquired "${KEY}" with fence ${shown(fence)}; no worker held it before`);
  b.resume();
  for (let invoice = 1; invoice < FATAL_INVOICE; invoice += 1) await a.next('paid');
  narrator.line('A', `paid invoices 1 to ${FATAL_INVOICE - 1}, with a checkpoint after each`);
  await a.next('calculating');
  narrator.line('A', `recorded the intent to pay invoice ${FATAL_INVOICE} and calculates`);
}

async function freeze({ a, store }: Participants): Promise<void> {
  a.freeze();
  narrator.line('system', `SIGSTOP: process ${a.pid} of worker A is frozen, its heartbeats stop`);
  narrator.line('B', `waits in the queue for "${KEY}"`);
  for (;;) {
    const { state } = await store.leases.inspect(parseLeaseKey(KEY));
    if (state === 'lapsed') break;
    mustBe(state === 'held', `the lease lapses before it is ${state}`);
    await pause(10);
  }
  narrator.line('store', 'the lease has lapsed: A may no longer act, and B must still wait');
}

async function takeOver({ b, store }: Participants): Promise<void> {
  for await (const event of watchLeases(store, { pollMs: 20 })) {
    if (event.kind === 'session-ended' && event.exit === 'expired') break;
  }
  narrator.line(
    'store',
    `no heartbeat for ${TTL_MS / 1000} s: the session of worker A has expired`,
  );
  const { fence, exit, paid, intents } = await b.next('acquired');
  mustBe(exit === 'expired', 'B reads that A expired');
  narrator.line('B', `acquired "${KEY}" with fence ${shown(fence)}, higher than A's`);
  narrator.line('B', `reads how A ended: ${exit}. ${EXIT_ADVICE[exit]}`);
  mustBe(
    paid === FATAL_INVOICE - 1 && intents.length === 1,
    'B finds the checkpoint and the intent of A',
  );
  narrator.line('B', `finds A's checkpoint (${paid} paid) and its open intent "${intents[0]}"`);
  const { wasPaid } = await b.next('reconciled');
  mustBe(!wasPaid, 'A was frozen before it paid');
  for (let invoice = FATAL_INVOICE; invoice < INVOICES; invoice += 1) await b.next('paid');
  const paidNow = `pays invoices ${FATAL_INVOICE} to ${INVOICES - 1}`;
  narrator.line(
    'B',
    `checks the ledger: invoice ${FATAL_INVOICE} was not paid. Settles the intent and ${paidNow}`,
  );
}

async function thaw({ a }: Participants, checksFences: boolean): Promise<void> {
  a.thaw();
  narrator.line('system', 'SIGCONT: worker A runs again, unaware that it was replaced');
  const late = await a.next('late');
  narrator.line('A', `pays invoice ${FATAL_INVOICE}: its first line of code after the thaw`);
  if (late.ledger.kind === 'refused') {
    const newest = shown(late.ledger.newest);
    narrator.line('ledger', `REFUSED: fence ${newest} is known, and this one is lower`);
  } else {
    narrator.line('ledger', 'ACCEPTED: this ledger does not check fences');
  }
  mustBe(
    (late.ledger.kind === 'refused') === checksFences,
    'the ledger refuses the payment exactly if it checks fences',
  );
  narrator.line('A', 'sends a checkpoint directly to the store');
  mustBe(late.store !== undefined, 'the store refuses the late checkpoint');
  narrator.line('store', `REFUSED: ${late.store}`);
  mustBe(late.library !== undefined, 'assertHeld throws after the thaw');
  narrator.line('A', `assertHeld() before the payment would have thrown: ${late.library}`);
}

function showLedger(payments: readonly Payment[]): void {
  narrator.plain('');
  narrator.aside('line  fence  worker  payment');
  let newest = 0;
  for (const [index, { fence, worker, invoice }] of payments.entries()) {
    const note = fence < newest ? '   ← by a replaced worker: paid twice' : '';
    const cells = [String(index + 1).padStart(4), shown(fence).padEnd(5), worker.padEnd(6)];
    narrator.aside(`${cells.join('  ')}  invoice ${invoice}${note}`);
    newest = Math.max(newest, fence);
  }
  const isCorrect = payments.length === INVOICES;
  narrator.aside(
    `${INVOICES} invoices, ${payments.length} payments: ${isCorrect ? 'correct' : 'CORRUPTED'}`,
  );
}

function shown(fence: number): string {
  return formatFence(parseFence(fence));
}

async function main(): Promise<void> {
  narrator.plain('\nA frozen worker: two real processes, one lease, one ledger');
  narrator.heading('Act 1. The ledger checks the fence.');
  const checked = await play('checked', true);
  mustBe(checked.length === INVOICES, 'each invoice is paid once if the ledger checks fences');
  narrator.heading('Act 2. The same, but the ledger does not check the fence.');
  const unchecked = await play('unchecked', false);
  mustBe(
    unchecked.length === INVOICES + 1,
    'one invoice is paid twice if the ledger does not check fences',
  );
  narrator.heading('Result');
  narrator.plain('The ledger that checks fences refused the late write of the replaced worker.');
  narrator.plain('The other ledger accepted it, and an invoice was paid twice.');
  narrator.plain(
    '\nRead next: README.md, then docs/spec/lease.md for the rules behind each line.\n',
  );
}

function cleanUp(): void {
  for (const actor of actors) actor.killNow();
  rmSync(folder, { recursive: true, force: true });
}

process.once('exit', cleanUp);
process.once('SIGINT', () => process.exit(130));
process.once('SIGTERM', () => process.exit(143));
setTimeout(() => {
  process.stderr.write(`The demo did not end within ${STORY_MS_MAX / 1_000} s.\n`);
  process.exit(1);
}, STORY_MS_MAX).unref();

try {
  await main();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
}
