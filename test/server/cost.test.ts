// Every route and every message has a bound on what one request costs the others in its process.
// The test prints the table of costs.

import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { Value } from 'typebox/value';
import { sample } from '../services/tier.ts';
import { type Cost, Counters } from './cost/counters.ts';
import { largestOf, SHAPES } from './cost/largest.ts';

const counters = await Counters.start();
// The counters cover only code that is loaded from here on.
const { openMemoryStore } = await import('../../src/store/sqlite/open-memory.ts');
const { WORK_KINDS, workMessage } = await import('../../src/protocol/messages/work-messages.ts');
const { ROUTES } = await import('../../src/protocol/rest/routes.ts');
const { FRAME_CHARS, TRANSPORTS, transportTo, LargeEndpoint, openStand, PUSHED } = await import(
  './cost/transports.ts'
);
const { ARCHIVING, CHANNEL_SIGNING } = await import('./cost/history.ts');
const { knownIn, messagesFor, plantRich, requestsFor, send } = await import('./cost/requests.ts');

const TRANSPORT_NAMES = Object.keys(TRANSPORTS) as (keyof typeof TRANSPORTS)[];

const MIB = 1024 * 1024;
/**
 * The coordinator writes a page of 16 Mi characters for its size, its etag and the response. A
 * re-drive reads a history of 64 Mi characters twice.
 */
const MAX: Cost = {
  ...{ parsed: 144 * MIB, written: 80 * MIB, rows: 25_000, blocks: 5_000_000 },
  answer: 32 * MIB,
};
/** Plus the cost of each sent character: parsing, checking and writing. */
const MAX_EACH: Cost = { parsed: 3, written: 4, rows: 0, answer: 0, blocks: 6 };
/**
 * The queue and its worker are in this process too: each reads and writes as much as the
 * coordinator does.
 */
const SHARERS: Readonly<Record<string, number>> = { sqs: 2 };
/** The store reads the inputs of a page too. Lists pay by their time, and a project has two at once. */
const OWN_MAX: Readonly<Record<string, Partial<Cost>>> = {
  'rest listExecutions': { answer: 144 * MIB },
  // Each execution of a page has up to 64 tags.
  'rest listArchive': { rows: 70_000 },
};

after(() => counters.stop());

interface Row extends Cost {
  /** The protocol, and the route or message. */
  readonly name: string;
  /** Characters of its requests. */
  readonly sent: number;
}

function tableOf(rows: readonly Row[]): string {
  const lines = rows.map(({ name, sent, parsed, written, rows: many, answer, blocks }) =>
    [name.padEnd(32), sent, parsed, written, many, answer, blocks].join('\t'),
  );
  return ['name\tsent\tparsed\twritten\trows\tanswer\tblocks', ...lines].join('\n');
}

function assertBounded(rows: readonly Row[]): void {
  for (const row of rows) {
    const sharers = SHARERS[row.name.split(' ')[0] ?? ''] ?? 1;
    for (const name of Object.keys(MAX) as (keyof Cost)[]) {
      const own = OWN_MAX[row.name]?.[name] ?? MAX[name];
      const max = sharers * (own + MAX_EACH[name] * row.sent);
      assert.ok(row[name] <= max, `${row.name}: ${name} is ${row[name]}, at most ${max}`);
    }
  }
}

/** Every run has these rows: a page of them could carry one large session many times. */
const LEASE_READS: ReadonlySet<string> = new Set(['listProjectLeases', 'listProjectSessions']);

const QUIET = { info: () => undefined, fault: () => undefined };
const GIVEN = {
  ...{ log: QUIET, limits: { relayAnswersMs: 100 }, maintenance: false },
  ...{ channels: { signing: CHANNEL_SIGNING }, retention: ARCHIVING },
};

test('no request to any route, and no message of any transport, costs more than its bound', async () => {
  const store = counters.counted(openMemoryStore());
  await using stand = await openStand({ ...GIVEN, store });
  const { url } = stand.coordinator;
  const rich = await plantRich(stand.coordinator);
  const rows: Row[] = [];
  // The cost of planting does not count.
  await counters.of(async () => undefined);
  const carried = TRANSPORT_NAMES.flatMap((name) => WORK_KINDS.map((kind) => ({ name, kind })));
  const sampled = sample('costs of messages', carried, 4);
  for (const [name, all] of Map.groupBy(sampled, (each) => each.name)) {
    const { transport, rich: own } = await transportTo(stand, name, rich);
    const charsMax = name === 'stream' ? FRAME_CHARS : undefined;
    const messages = Map.groupBy(messagesFor(own, charsMax), ({ kind }) => kind);
    for (const { kind } of all) {
      const asked = (messages.get(kind) ?? []).map((each) => ({ ...each, body: each.body() }));
      const sent = asked.reduce(
        (sum, { bytes, body }) => sum + (bytes ?? JSON.stringify(body)).length,
        0,
      );
      const cost = await counters.of(async () => {
        // A refused message costs too.
        for (const each of asked) {
          await transport.request(each).catch(({ message }: Error) => {
            assert.notEqual(message, 'The frame was refused.');
          });
        }
      });
      rows.push({ name: `${name} ${kind}`, sent, ...cost });
    }
    await transport.close();
  }
  const requests = [...Map.groupBy(requestsFor(rich), ({ name }) => name)];
  const reads = requests.filter(([name]) => LEASE_READS.has(name));
  for (const [name, all] of new Set([...reads, ...sample('costs of requests', requests, 12)])) {
    let sent = 0;
    const cost = await counters.of(async () => {
      for (const request of all) sent += await send(url, rich.key, request);
    });
    rows.push({ name: `rest ${name}`, sent, ...cost });
  }
  console.log(tableOf(rows));
  assertBounded(rows);
  const writes = rows.filter(({ name }) => name.endsWith('writeAsOwner'));
  for (const { name, rows: many } of writes) assert.ok(many > 1_000, `${name} reaches the store`);
});

test('no answer of an endpoint costs more than its bound', async () => {
  const endpoint = new LargeEndpoint();
  const store = counters.counted(openMemoryStore());
  await counters.of(async () => undefined);
  await using coordinator = await endpoint.open({ ...GIVEN, store });
  const rows: Row[] = [];
  for (const large of PUSHED) {
    endpoint.large = large;
    const cost = await counters.of(async () => {
      const { executions } = await coordinator.client(['submit'], 'default');
      const { id } = await executions.submit({ pipeline: 'pushed' });
      assert.equal((await executions.result(id)).status, 'completed');
    });
    rows.push({ name: `push ${large}`, sent: 0, ...cost });
  }
  endpoint.close();
  console.log(tableOf(rows));
  assertBounded(rows);
});

test('every protocol, route and message has a row, and its largest bodies are legal', async () => {
  const folders = await readdir(join(import.meta.dirname, '../../src/protocol'));
  const protocols = folders.filter((name) => name !== 'messages').sort();
  const ofFolders = TRANSPORT_NAMES.filter((name) => name !== 'stream');
  assert.deepEqual([...ofFolders, 'push', 'rest'].sort(), protocols);
  const rich = {
    key: '',
    execution: ID,
    interaction: ID,
    form: ID,
    session: ID,
    holder: ID,
    fence: 1,
    seq: 1,
    history: { letter: ID, job: ID, archived: ID },
  };
  const given = { ...rich, digest: 'a'.repeat(64) };
  const routes = new Set(requestsFor(given).map(({ name }) => name));
  assert.deepEqual([...routes].sort(), ROUTES.map(({ name }) => name).sort());
  const kinds = new Set(messagesFor(given).map(({ kind }) => kind));
  assert.deepEqual([...kinds].sort(), [...WORK_KINDS].sort());
  const schemas = [
    ...ROUTES.flatMap(({ body }) => body ?? []),
    ...WORK_KINDS.map((kind) => workMessage(kind).body),
  ];
  for (const schema of schemas) {
    for (const of of SHAPES) {
      const value = largestOf(schema, { of, chars: 10_000, known: knownIn(given) });
      assert.ok(Value.Check(schema, value), JSON.stringify(value).slice(0, 200));
    }
  }
});

const ID = '01a1e190-0000-7000-8000-000000000000';
