// Values of workers and callers that one store keeps and another cannot: numbers, halves of
// characters, long texts.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { interactionId } from '../../src/index.ts';
import type { CoordinatorStore } from '../../src/store/contract/execution-store.ts';
import { digestOf } from '../../src/support/digest.ts';
import { TestCoordinator } from './coordinator.ts';
import { type RawOwner, RawWorker } from './raw-worker.ts';

const HUGE = Number.MAX_SAFE_INTEGER;
const HALF = '\ud800';
/** Incompressible, since an index accepts longer text if it can compress it. */
const LONG = Array.from({ length: 300 }, (_, n) => digestOf(Buffer.from(`${n}`))).join('');
const STEP_EVENTS = [{ kind: 'step-completed', name: 's', body: '{"key":"step:s#1"}' }];
const ENDS = { verb: 'finish', status: 'failed', events: [{ kind: 'failed', body: '{}' }] };
const LETTER = { category: 'permanent', code: 'c', reason: 'r', attempts: 1 };

function writesOf(worker: RawWorker, { id }: RawOwner): readonly object[] {
  const child = (what: object): object => ({ children: [worker.submission(what)] });
  const item = { id: interactionId({ execution: id, name: 'ok' }) };
  const asks = (what: object): object => ({
    awaits: [
      {
        ...{ call: 'await:ok#1', name: 'ok', needed: 1, items: [item], reminders: [] },
        ...{ signed: false, checked: false, ...what },
      },
    ],
  });
  const document = { name: 'd', type: 'text/plain', bytes: '' };
  return [
    { seq: HUGE, events: STEP_EVENTS },
    { events: [{ kind: 'step-completed', name: HALF, body: '{"key":"step:s#1"}' }] },
    ...[HALF, LONG].flatMap((text) => [
      child({ attributes: { a: text } }),
      child({ attributes: { [text]: 1 } }),
    ]),
    ...[child({ tags: [HALF] }), child({ key: HALF }), child({ pipeline: HALF })],
    child({ template: { id: 't', version: HUGE } }),
    ...[
      asks({ needed: 1e300 }),
      asks({ needed: HUGE }),
      asks({ items: [{ ...item, assignee: HALF }] }),
    ],
    { attachments: [{ ...document, name: HALF }] },
    { attachments: [{ ...document, sealed: { by: 'k', size: HUGE } }] },
    { verb: 'park', wakeAfter: HUGE, inboxSeen: 0 },
    { verb: 'park', wakeAfter: 0, inboxSeen: HUGE },
    { verb: 'giveBack', inboxSeen: HUGE },
    { ...ENDS, unread: [HUGE], deadLetter: LETTER },
    { ...ENDS, deadLetter: { ...LETTER, attempts: HUGE } },
  ];
}

/** On a file if no store is given. */
async function opened(open: () => Promise<CoordinatorStore | undefined>): Promise<TestCoordinator> {
  const store = await open();
  return TestCoordinator.open(store === undefined ? {} : { store });
}

export function registerHostileValues(
  kind: string,
  open: () => Promise<CoordinatorStore | undefined>,
): void {
  test(`${kind}: a worker's values that not every store can keep are refused, and nothing is written`, async () => {
    await using coordinator = await opened(open);
    const worker = await RawWorker.open(coordinator, 'ours');
    const own = await worker.running('x');
    const before = await worker.call('GET', `/v1/executions/${own.id}`);
    for (const what of writesOf(worker, own)) {
      const { status, json } = await worker.write(own, what);
      assert.deepEqual(
        [status, json.code],
        [400, 'invalid-input'],
        JSON.stringify(what).slice(0, 200),
      );
    }
    assert.deepEqual(await worker.call('GET', `/v1/executions/${own.id}`), before);
    const ended = await worker.write(own, { ...ENDS, deadLetter: { ...LETTER, code: LONG } });
    assert.equal(ended.json.results?.[0].kind, undefined, 'a text has its limit');
    const fits = { ...LETTER, code: LONG.slice(0, 8_000) };
    const { json } = await worker.write(own, { ...ENDS, deadLetter: fits });
    assert.equal(json.results[0].kind, 'finished');
  });

  test(`${kind}: a page after a huge number gets a client error`, async () => {
    await using coordinator = await opened(open);
    const worker = await RawWorker.open(coordinator, 'ours');
    const { id } = await worker.running('x');
    for (const path of ['executions', 'work/executions'].flatMap((where) =>
      ['history', 'inbox', 'events'].map((what) => `/v1/${where}/${id}/${what}`),
    )) {
      const { status } = await worker.call('GET', `${path}?after=${HUGE}`);
      assert.ok(status === 400 || status === 404, `${path}: ${status}`);
    }
    const session = { id: id.replace(/^./, 'f'), owner: 'o', ttlMs: 1_000, graceMs: 0 };
    const begun = await worker.call('POST', '/v1/work/sessions', {
      ...session,
      pipelines: [HALF],
    });
    assert.deepEqual([begun.status, begun.json.code], [400, 'invalid-input']);
    const announcement = {
      session: worker.session,
      pipelines: ['x'],
      state: 'ready',
      everyMs: 1_000,
    };
    const refused = await worker.call('POST', '/v1/work/announcements', {
      ...announcement,
      room: HUGE,
    });
    assert.deepEqual([refused.status, refused.json.code], [400, 'invalid-input']);
  });
}
