// Every route and every message has a bound on what one request costs the others, who share its process. The table of
// what each costs is printed.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { sample } from '../services/tier.ts';
import { type Cost, Counters } from './cost/counters.ts';

const counters = await Counters.start();
// Only code that is loaded from here on is counted.
const { TestCoordinator } = await import('./coordinator.ts');
const { openMemoryStore } = await import('../../src/store/memory/open.ts');
const { envelopesFor, plantRich, requestsFor } = await import('./cost/requests.ts');

const MIB = 1024 * 1024;
/**
 * A page of 16 Mi characters is written for its size, its etag and the answer. A re-drive reads a history of 64 Mi
 * characters twice.
 */
const MAX: Cost = { parsed: 144 * MIB, written: 80 * MIB, rows: 25_000, blocks: 5_000_000 };

after(() => counters.stop());

interface Row extends Cost {
  readonly name: string;
}

/** All requests of one name count together. */
function byName<Asked>(
  all: readonly Asked[],
  nameOf: (asked: Asked) => string,
): readonly (readonly [string, readonly Asked[]])[] {
  return [...Map.groupBy(all, nameOf)];
}

function tableOf(rows: readonly Row[]): string {
  const lines = rows.map(({ name, parsed, written, rows: many, blocks }) =>
    [name.padEnd(24), parsed, written, many, blocks].join('\t'),
  );
  return ['name\tparsed\twritten\trows\tblocks', ...lines].join('\n');
}

function assertBounded(rows: readonly Row[]): void {
  for (const row of rows) {
    for (const [name, max] of Object.entries(MAX)) {
      const cost = row[name as keyof Cost];
      assert.ok(cost <= max, `${row.name}: ${name} is ${cost}, at most ${max}`);
    }
  }
}

test('no request to any route, and no message of any carrier, costs more than its bound', async (context) => {
  const plain = openMemoryStore();
  const store = counters.counted(plain);
  const log = { info: () => undefined, fault: () => undefined };
  const limits = { relayAnswersMs: 100 };
  await using coordinator = await TestCoordinator.open({ store, log, limits, tends: false });
  const rich = await plantRich(coordinator);
  // What planting it took is not counted.
  await counters.of(async () => undefined);
  const { key } = rich;
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const rows: Row[] = [];
  const carrier = coordinator.server.carrier({ key });
  const messages = byName(envelopesFor(rich), (each) => each.kind);
  for (const [kind, all] of sample('costs of messages', messages, 10)) {
    const cost = await counters.of(async () => {
      for (const { body } of all) {
        await carrier.ask({ kind: kind as never, body }).catch(() => undefined);
      }
    });
    rows.push({ name: `message ${kind}`, ...cost });
  }
  await carrier.close();
  const requests = byName(requestsFor(rich), (each) => each.name);
  for (const [name, all] of sample('costs of requests', requests, 40)) {
    const cost = await counters.of(async () => {
      for (const { method, path, body } of all) {
        const init = { method, headers, ...(body === undefined ? {} : { body }) };
        await (await fetch(`${coordinator.url}${path}`, init)).arrayBuffer();
      }
    });
    rows.push({ name, ...cost });
  }
  context.diagnostic(tableOf(rows));
  assertBounded(rows);
});
