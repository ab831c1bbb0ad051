// Every recipe refuses invalid options, names the called function, and acquires nothing.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type FaultyStore, faultyStore } from '../../contract/testing/faulty-store.ts';
import { ManualClock } from '../../contract/testing/manual-clock.ts';
import { openSession } from '../lease/live-session.ts';
import type { KernelStore } from '../lease/port.ts';
import { openMemoryStore } from '../store/sqlite/open-memory.ts';
import { InvalidInput } from '../support/fault.ts';
import { elect } from './elect.ts';
import { pool } from './pool.ts';
import { registry } from './registry.ts';
import { revokePrefix } from './revoke-prefix.ts';
import { openWatchdogSession } from './watchdog-session.ts';
import { withLease } from './with-lease.ts';

const work = (): Promise<void> => Promise.resolve();

/** Passes a value as a caller without a type checker would. */
function untyped<Wanted>(value: unknown): Wanted {
  return value as Wanted;
}

interface World {
  readonly faulty: FaultyStore;
  readonly store: KernelStore;
  readonly clock: ManualClock;
}

function makeWorld(): World {
  const clock = new ManualClock();
  const faulty = faultyStore(openMemoryStore({ clock }));
  return { faulty, store: faulty.store, clock };
}

function refused(message: RegExp): (fault: unknown) => boolean {
  return (fault) => {
    assert.ok(fault instanceof InvalidInput, String(fault));
    assert.match(fault.message, message);
    return true;
  };
}

test('A-8: withLease refuses impossible arguments', async () => {
  const { faulty, store, clock } = makeWorld();
  const { timers } = clock;
  const session = await openSession({ store, owner: 'ann', clock, timers });
  const good = { session, key: 'k' };
  const cases: readonly [unknown, unknown, RegExp][] = [
    [undefined, work, /withLease: options must be an object/],
    [{ key: 'k' }, work, /withLease: session/],
    [{ store, key: 'k' }, work, /withLease: there is no option "store"/],
    [{ session }, work, /key/],
    [good, undefined, /withLease: the work must be a function; got undefined/],
    [{ ...good, setleMs: 1 }, work, /Did you mean "settleMs"/],
    [{ ...good, settleMs: -1 }, work, /settleMs/],
    [{ ...good, exitOnOverrun: 'yes' }, work, /withLease: exitOnOverrun must be true or false/],
    [{ ...good, onOverrun: true }, work, /withLease: onOverrun must be a function/],
    [{ ...good, exit: 'done' }, work, /exit must be one of/],
    [{ ...good, timeoutMs: 10 }, work, /it needs wait: true/],
  ];
  for (const [options, given, message] of cases) {
    const called = withLease<void>(untyped(options), untyped(given));
    await assert.rejects(called, refused(message));
  }
  assert.equal(faulty.calls.get('leases.acquire'), undefined, 'nothing was acquired');
});

test('A-8: elect refuses impossible arguments', () => {
  const { faulty, store } = makeWorld();
  const good = { store, owner: 'ann', name: 'leader' };
  const cases: readonly [unknown, unknown, RegExp][] = [
    [undefined, work, /elect: options must be an object/],
    [{ session: {}, name: 'leader' }, work, /elect: there is no option "session"/],
    [{ owner: 'ann', name: 'leader' }, work, /elect: store is required/],
    [good, undefined, /elect: the work must be a function/],
    [{ ...good, name: '' }, work, /key|name/],
    [{ ...good, retryMs: -5 }, work, /retryMs/],
    [{ ...good, onstate: work }, work, /Did you mean "onState"/],
    [{ ...good, onState: 1 }, work, /elect: onState must be a function/],
    [{ ...good, onError: 'x' }, work, /elect: onError must be a function/],
    [{ ...good, open: 'x' }, work, /elect: open must be a function/],
    [{ ...good, observer: () => 1 }, work, /elect: observer must be an object with a function/],
  ];
  for (const [options, given, message] of cases) {
    assert.throws(() => elect(untyped(options), untyped(given)), refused(message));
  }
  assert.equal(faulty.calls.size, 0, 'the store was not asked');
});

test('A-8: pool refuses impossible arguments', async () => {
  const { faulty, store, clock } = makeWorld();
  const good = { store, owner: 'ann', name: 'queues', keys: ['a'], clock, timers: clock.timers };
  const { keys: _, ...noKeys } = good;
  const cases: readonly [unknown, unknown, RegExp][] = [
    [undefined, work, /pool: options must be an object/],
    [{ ...good, bad: 1 }, work, /pool: there is no option "bad"/],
    [noKeys, work, /pool: keys must be a list of strings; got undefined/],
    [{ ...good, keys: 'abc' }, work, /pool: keys must be a list of strings; got "abc"/],
    [{ ...good, keys: [1] }, work, /pool: keys must be a list of strings/],
    [{ ...good, name: undefined }, work, /pool: name must be a string/],
    [good, 'work', /pool: the work must be a function/],
    [{ ...good, balanceMs: 0 }, work, /balanceMs/],
    [{ ...good, movesMax: 0 }, work, /movesMax/],
    [{ ...good, isPermanent: true }, work, /pool: isPermanent must be a function/],
    [{ ...good, store: undefined }, work, /pool: store is required/],
  ];
  for (const [options, given, message] of cases) {
    assert.throws(() => pool(untyped(options), untyped(given)), refused(message));
  }
  assert.equal(faulty.calls.size, 0, 'the store was not asked');
  const member = pool(good, work);
  assert.throws(() => member.setKeys(untyped('xy')), refused(/setKeys: keys must be a list/));
  const stopping = member.stop();
  await clock.advance(1_000);
  await stopping;
});

test('A-8: registry refuses impossible arguments', async () => {
  const { store } = makeWorld();
  assert.throws(() => registry(untyped(undefined)), refused(/registry: options must be an object/));
  assert.throws(() => registry(untyped({ service: 's' })), refused(/registry: store is required/));
  assert.throws(() => registry(untyped({ store })), refused(/service must be a string/));
  assert.throws(() => registry(untyped({ store, servce: 's' })), refused(/"service"/));
  const nodes = registry({ store, service: 'nodes' });
  await assert.rejects(
    nodes.list(untyped({ all: true })),
    refused(/list: there is no option "all"/),
  );
  assert.throws(() => nodes.watch(untyped({ pol: 1 })), refused(/watch: there is no option "pol"/));
  assert.throws(() => nodes.watch({ pollMs: 0 }), refused(/pollMs/));
  assert.throws(() => nodes.register(untyped(undefined)), refused(/register: options must be/));
  assert.throws(() => nodes.register(untyped({ store })), refused(/register: there is no option/));
});

test('A-8: revokePrefix refuses impossible arguments, when it is called', () => {
  const { faulty, store } = makeWorld();
  const good = { store, prefix: 'a/', actor: 'olga', reason: 'drill' };
  const cases: readonly [unknown, RegExp][] = [
    [undefined, /revokePrefix: options must be an object/],
    [{ ...good, store: undefined }, /revokePrefix: store is required/],
    [{ ...good, actor: undefined }, /actor must be a string/],
    [{ ...good, reason: undefined }, /reason must be a string/],
    [{ ...good, drainMs: -1 }, /drainMs/],
    [{ ...good, after: 3 }, /must be a string/],
  ];
  for (const [options, message] of cases) {
    assert.throws(() => revokePrefix(untyped(options)), refused(message));
  }
  assert.equal(faulty.calls.size, 0);
});

test('A-8: openWatchdogSession refuses impossible arguments under its own name', async () => {
  const { store } = makeWorld();
  const good = { store, owner: 'ann' };
  await assert.rejects(
    openWatchdogSession(untyped(undefined)),
    refused(/openWatchdogSession: options/),
  );
  await assert.rejects(
    openWatchdogSession(untyped({ ...good, stalMs: 1 })),
    refused(/openWatchdogSession: there is no option "stalMs". Did you mean "stallMs"/),
  );
  await assert.rejects(
    openWatchdogSession(untyped({ ...good, exitOnOverrun: 1 })),
    refused(/openWatchdogSession: exitOnOverrun must be true or false/),
  );
});
