// Control fields are strict and versioned; payloads are opaque.

import assert from 'node:assert/strict';
import type { HistoryEventKind } from '../../src/execution/history.ts';
import { WORK_VERSION } from '../../src/protocol/messages/envelope.ts';
import type { OwnerWrite } from '../../src/store/contract/execution-store.ts';
import { digestOf } from '../../src/support/digest.ts';
import {
  finishing,
  kindsOf,
  later,
  mustSubmit,
  OTHER_PIPELINE,
  parking,
  payload,
  statusOf,
  step,
  writing,
} from '../execution/worker.ts';
import { refusedWith, type TransportCase, type TransportHarness } from './contract-case.ts';
import { assertKind, owner, peer, type WriteResult } from './peer.ts';

async function problemOf(harness: TransportHarness, envelope: unknown): Promise<string> {
  const { problem } = await harness.deliver(envelope);
  assert.ok(problem !== undefined, 'refused');
  assert.ok(problem.detail.length > 20, 'a sentence for people');
  return `${problem.code}: ${problem.detail}`;
}

const GREETING = { v: WORK_VERSION, id: 'one', kind: 'greet', body: {} };

const control: readonly TransportCase[] = [
  {
    upholds: 'M-5',
    name: 'an unknown control field is refused by its name',
    needs: 'envelopes',
    async run(harness) {
      const problem = await problemOf(harness, { ...GREETING, priority: 9 });
      assert.match(problem, /^control-unknown: .*"(priority|field 15)"/);
    },
  },
  {
    upholds: 'M-5',
    name: 'an unsupported version is refused with the supported ones',
    needs: 'envelopes',
    async run(harness) {
      assert.match(await problemOf(harness, { ...GREETING, v: 99 }), /^version-unknown: .*2 to 2/);
    },
  },
  {
    upholds: 'M-5',
    name: 'an unknown message is refused with the most similar known one',
    needs: 'envelopes',
    async run(harness) {
      const problem = await problemOf(harness, { ...GREETING, kind: 'great' });
      assert.match(problem, /^kind-unknown: .*"greet"/);
    },
  },
  {
    upholds: 'M-5',
    name: 'an envelope without a kind is refused, and the next one is answered',
    needs: 'envelopes',
    async run(harness) {
      assert.match(await problemOf(harness, { v: WORK_VERSION, id: 'one' }), /^invalid-input/);
      assert.equal((await harness.deliver(GREETING)).id, 'one');
    },
  },
  {
    upholds: 'M-5',
    name: 'a reply has the id of its request',
    needs: 'envelopes',
    async run(harness) {
      for (const id of ['a', 'b', 'a']) {
        assert.equal((await harness.deliver({ ...GREETING, id })).id, id);
      }
    },
  },
  {
    upholds: 'M-5',
    name: 'both sides agree on a version in the greeting',
    async run(harness) {
      const transport = await harness.transport();
      for (const version of [WORK_VERSION, 99]) {
        const greeted = await transport.request<{ readonly version: number }>({
          kind: 'greet',
          body: { version },
        });
        assert.equal(greeted.version, WORK_VERSION);
      }
    },
  },
  {
    upholds: 'M-5',
    name: 'a greeting with a version older than the coordinator supports is refused',
    async run(harness) {
      const transport = await harness.transport();
      const greeting = { kind: 'greet', body: { version: WORK_VERSION - 1 } } as const;
      await assert.rejects(transport.request(greeting), /Update the worker/);
    },
  },
  {
    upholds: 'M-5',
    name: 'an unknown field of a message is refused by its name',
    async run(harness) {
      const ann = await peer(harness);
      const body = { id: ann.id, owner: ann.owner, nice: 1 };
      await assert.rejects(ann.request('heartbeat', body), /nice/);
    },
  },
  {
    upholds: 'M-5',
    name: 'a write with an unknown field is refused whole, and nothing is written',
    async run(harness) {
      const { ann, held, id } = await owner(harness);
      const write = { verb: 'record', ...writing(held), force: true };
      await refusedWith(ann.request('writeAsOwner', { writes: [write] }), 'invalid-input');
      assert.equal((await kindsOf(harness.store, id)).length, 2);
    },
  },
];

/** Values that a component on the way might change. */
const ODD: Readonly<Record<string, object>> = {
  'text of many planes': { text: 'né 𝄞 \u2028 "quoted" \\ \u0007' },
  'numbers at their limits': { numbers: [0, -1, 2 ** 53 - 1, 1e-300, 1.5] },
  'a value that a codec sealed': { by: 'aes', sealed: 'AAEC/w==', of: [] },
  'a value that looks like control fields': {
    v: 9,
    id: 'x',
    kind: 'endSession',
    problem: { code: 'x' },
  },
};

const opaque: readonly TransportCase[] = Object.entries(ODD).map(([what, value]) => ({
  upholds: 'M-6',
  name: `a payload is read back as it was sent: ${what}`,
  async run(harness) {
    const ann = await peer(harness);
    const id = await mustSubmit(harness.store, { input: payload(value) });
    const [claimed] = await ann.claim();
    assert.equal(claimed?.execution.input, payload(value));
    const body = { key: 'step:odd#1', ...value };
    const write = writing(ann.held(claimed), step('odd', body));
    assertKind(await ann.write('record', write), 'recorded');
    const { items } = await ann.request<{ readonly items: readonly { readonly body?: string }[] }>(
      'readStoredHistory',
      { id },
    );
    assert.equal(items.at(-1)?.body, payload(body));
  },
}));

export const envelopeCases: readonly TransportCase[] = [
  ...control,
  ...opaque,
  {
    upholds: 'M-6',
    name: 'bytes of every value are read back as they were put',
    async run(harness) {
      const transport = await harness.transport();
      const bytes = Uint8Array.from({ length: 256 }, (_, index) => index);
      const body = { digest: digestOf(bytes) };
      await transport.request({ kind: 'putBlob', body, bytes });
      assert.deepEqual(new Uint8Array(await transport.request({ kind: 'getBlob', body })), bytes);
    },
  },
  {
    upholds: 'M-6',
    name: 'bytes that do not match their digest are refused',
    async run(harness) {
      const transport = await harness.transport();
      const body = { digest: digestOf(new Uint8Array([1])) };
      const asked = transport.request({ kind: 'putBlob', body, bytes: new Uint8Array([2]) });
      await refusedWith(asked, 'invalid-input');
      await refusedWith(transport.request({ kind: 'getBlob', body }), 'not-found');
    },
  },
  {
    upholds: 'M-6, M-22',
    name: 'a payload that is not valid JSON is refused, and nothing is written',
    async run(harness) {
      const { ann, held, id } = await owner(harness);
      const event = { ...step('odd'), body: '{' };
      const write = { verb: 'record', ...writing(held, event as never) };
      await refusedWith(ann.request('writeAsOwner', { writes: [write] }), 'invalid-input');
      assert.equal((await kindsOf(harness.store, id)).length, 2);
    },
  },
  {
    upholds: 'M-31',
    name: 'an event that cannot be replayed is refused, and nothing is written',
    async run(harness) {
      const { ann, held, id } = await owner(harness);
      const key = 'step:s#1';
      const failure = { category: 'permanent', code: 'x', message: 'x' };
      const lacking: readonly (readonly [kind: HistoryEventKind, body: object | undefined])[] = [
        ['step-completed', undefined],
        ['step-completed', {}],
        ['step-completed', { out: { v: 1 } }],
        ['step-failed', { key }],
        ['step-failed', { failure }],
        ['timer-set', { key }],
        ['timer-set', { ms: 5 }],
        ['timer-fired', {}],
        ['child-spawned', { key }],
        ['child-ended', { key }],
        ['signal-received', { key }],
        ['signal-received', { n: 1 }],
        ['await-opened', {}],
        ['await-settled', {}],
        ['cancel-requested', { key }],
        ['attached', {}],
        ['lease-ended', {}],
        ['checkpointed', {}],
      ];
      for (const [kind, body] of lacking) {
        const event = { kind, name: 's', ...(body === undefined ? {} : { body: payload(body) }) };
        await refusedWith(ann.write('record', writing(held, event)), 'invalid-input');
      }
      assert.equal((await kindsOf(harness.store, id)).length, 2);
      const failureBody = payload({ key, failure });
      const event = { kind: 'step-failed', name: 's', body: failureBody } as const;
      assertKind(await ann.write('record', writing(held, event)), 'recorded');
    },
  },
  {
    upholds: 'M-31',
    name: 'an event that ends a claim must be the last of its write and match its verb',
    async run(harness) {
      const { ann, held, id } = await owner(harness);
      const [completed, parked] = [{ kind: 'completed' }, { kind: 'parked' }] as const;
      const end = finishing(held);
      const misplaced: readonly (readonly [verb: string, write: OwnerWrite])[] = [
        ...(['submitted', 'claimed', 'moved', 'resumed', 'unblocked', 'completed'] as const).map(
          (kind) => ['record', writing(held, { kind })] as const,
        ),
        ['finish', { ...end, events: [] }],
        ['finish', { ...end, events: [step('pay')] }],
        ['finish', { ...end, events: [{ kind: 'failed' }] }],
        ['finish', { ...end, events: [parked, completed] }],
        ['park', { ...parking(held), events: [completed] }],
        ['giveBack', writing(held, parked)],
      ];
      for (const [verb, write] of misplaced) {
        await refusedWith(ann.write(verb, write), 'invalid-input');
      }
      assert.equal((await kindsOf(harness.store, id)).length, 2);
      assertKind(await ann.finish(held), 'finished');
    },
  },
  {
    upholds: 'M-7',
    name: 'a write of one megabyte is accepted',
    async run(harness) {
      const { ann, held, id } = await owner(harness);
      const large = 'x'.repeat(1_000_000);
      const body = { key: 'step:large#1', large };
      assertKind(await ann.write('record', writing(held, step('large', body))), 'recorded');
      const events = await harness.store.executions.history({ id, after: 2, limit: 1 });
      assert.equal(events[0]?.body?.length, JSON.stringify(body).length);
    },
  },
  {
    upholds: 'M-7',
    name: 'a message that is too large is refused for its size, and its sender can continue',
    needs: 'limit',
    async run(harness) {
      const { ann, held } = await owner(harness);
      const large = 'x'.repeat(5_000_000);
      await refusedWith(
        ann.write('record', writing(held, step('large', large))),
        'payload-too-large',
      );
      assertKind(await ann.finish(held), 'finished');
    },
  },
  {
    upholds: 'M-10',
    name: 'each of several writes has its own answer, in order',
    async run(harness) {
      const ann = await peer(harness);
      for (let made = 0; made < 3; made += 1) await mustSubmit(harness.store);
      const claims = await ann.claim(3);
      const writes = claims.map((claimed, index) => ({
        verb: 'record',
        ...writing(later(ann.held(claimed), index === 1 ? 6 : 0)),
      }));
      const { results } = await ann.request<{ readonly results: readonly WriteResult[] }>(
        'writeAsOwner',
        { writes },
      );
      const outcomes = results.map(({ kind, why }) => why ?? kind);
      assert.deepEqual(outcomes, ['recorded', 'seq-taken', 'recorded']);
    },
  },
  {
    upholds: 'M-10',
    name: 'a hundred messages at once each get their own reply',
    async run(harness) {
      const ann = await peer(harness);
      const ids = await Promise.all(
        Array.from({ length: 20 }, () => mustSubmit(harness.store, { pipeline: OTHER_PIPELINE })),
      );
      const asked = Array.from({ length: 100 }, (_, index) => ids[index % ids.length] ?? '');
      const replies = await Promise.all(
        asked.map((id) => ann.request<{ readonly id: string }>('readStoredExecution', { id })),
      );
      assert.deepEqual(
        replies.map(({ id }) => id),
        asked,
      );
      assert.equal(await statusOf(harness.store, ids[0] as never), 'queued');
    },
  },
];
