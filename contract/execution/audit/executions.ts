// Operations on executions write their audit record in the same transaction (J-1 … J-4).

import assert from 'node:assert/strict';
import type { ExecutionId } from '../../../src/execution/names.ts';
import type { AuditRecord, AuditStamp } from '../../../src/features/audit/model.ts';
import { expectKind } from '../../lease/expect.ts';
import type { ExecutionCase } from '../contract-case.ts';
import { expectWhy } from '../expect.ts';
import { ended, redriving } from '../repair/repairing.ts';
import {
  childOf,
  commanding,
  mustFinish,
  mustPark,
  mustSubmit,
  OTHER_PROJECT,
  PROJECT,
  running,
  signalling,
  submitting,
  worker,
} from '../worker.ts';
import { allAudit, expectAudited, expectUnaudited, recordOf, stamp } from './auditing.ts';

type Facts = NonNullable<AuditRecord['before']>;

function ofExecution(
  id: ExecutionId,
  audit: AuditStamp,
  change: { readonly before?: Facts; readonly after?: Facts },
): Omit<AuditRecord, 'at'> {
  return { ...recordOf(audit, PROJECT, { kind: 'execution', id }), ...change };
}

const FREE = { status: 'queued', holds: [] } as const;
const PAUSED = { status: 'queued', holds: ['paused'] } as const;

export const auditedExecutionCases: readonly ExecutionCase[] = [
  {
    upholds: 'J-1, J-4',
    name: 'pause, resume and cancel of a queued execution are recorded with its state before and after',
    async run({ store, advance, now }) {
      const id = await mustSubmit(store);
      await advance(1_000);
      const pause = stamp('pause');
      const paused = ofExecution(id, pause, { before: FREE, after: PAUSED });
      await expectAudited(store, { ...paused, at: now() }, () =>
        store.executions.pause(commanding(id, { audit: pause })),
      );
      const resume = stamp('resume', { actor: 'anonymous', reason: '' });
      const resumed = ofExecution(id, resume, { before: PAUSED, after: FREE });
      await expectAudited(store, resumed, () =>
        store.executions.resume(commanding(id, { audit: resume })),
      );
      const cancel = stamp('cancel');
      const after = { status: 'cancelled', holds: [] };
      await expectAudited(store, ofExecution(id, cancel, { before: FREE, after }), () =>
        store.executions.cancel(commanding(id, { audit: cancel })),
      );
    },
  },
  {
    upholds: 'J-1, J-2',
    name: 'a forwarded operation is recorded once, as the caller requested it',
    async run({ store }) {
      const { id } = await running(store, await worker(store));
      const before = { status: 'running', holds: [] };
      for (const operation of ['pause', 'resume', 'cancel'] as const) {
        const audit = stamp(operation);
        const record = ofExecution(id, audit, { before, after: { ...before, asked: operation } });
        await expectAudited(store, record, async () =>
          expectKind(await store.executions[operation](commanding(id, { audit })), 'forwarded'),
        );
      }
      const again = commanding(id, { audit: stamp('cancel') });
      expectKind(await expectUnaudited(store, () => store.executions.cancel(again)), 'no-change');
    },
  },
  {
    upholds: 'J-1, J-4',
    name: 'the record of a cancel that starts compensation says that the execution is compensating',
    async run({ store }) {
      const held = await running(store, await worker(store));
      await mustPark(store, held, { compensable: true });
      const audit = stamp('cancel');
      const before = { status: 'waiting', holds: [] };
      const after = { status: 'queued', holds: [], compensating: true };
      await expectAudited(store, ofExecution(held.id, audit, { before, after }), () =>
        store.executions.cancel(commanding(held.id, { audit })),
      );
    },
  },
  {
    upholds: 'J-2',
    name: 'commands that are refused or change nothing leave no record',
    async run({ store }) {
      const id = await mustSubmit(store);
      const { executions } = store;
      const resume = commanding(id, { audit: stamp('resume') });
      expectKind(await expectUnaudited(store, () => executions.resume(resume)), 'no-change');
      const foreign = commanding(id, { audit: stamp('pause'), project: OTHER_PROJECT });
      expectWhy(await expectUnaudited(store, () => executions.pause(foreign)), 'execution-unknown');
      await executions.pause(commanding(id));
      const pause = commanding(id, { audit: stamp('pause') });
      expectKind(await expectUnaudited(store, () => executions.pause(pause)), 'no-change');
      await executions.cancel(commanding(id));
      for (const operation of ['cancel', 'pause', 'resume'] as const) {
        const late = commanding(id, { audit: stamp(operation) });
        expectWhy(await expectUnaudited(store, () => executions[operation](late)), 'already-ended');
      }
    },
  },
  {
    upholds: 'J-4, J-13',
    name: 'a signal that is an operation is recorded with its step; other signals are not recorded',
    async run({ store }) {
      const { id } = await running(store, await worker(store));
      await expectUnaudited(store, () => store.executions.signal(signalling(id)));
      const audit = stamp('skip-compensation', { about: { step: 'charge' } });
      const before = { status: 'running', holds: [] };
      const after = { ...before, asked: 'signal', step: 'charge' };
      await expectAudited(store, ofExecution(id, audit, { before, after }), () =>
        store.executions.signal({ ...signalling(id), audit }),
      );
    },
  },
  {
    upholds: 'J-1, J-2, J-4',
    name: 'a re-drive is recorded with the execution that it created; a refused one is not recorded',
    async run({ store }) {
      const of = await ended(store, await worker(store));
      const audit = stamp('redrive', { about: { mode: 'forward' } });
      const request = redriving(of, { audit });
      const before = { status: 'failed' };
      const after = { ...before, redrivenBy: request.submit.id, mode: 'forward' };
      await expectAudited(store, ofExecution(of, audit, { before, after }), () =>
        store.executions.redrive(request),
      );
      await expectUnaudited(store, () => store.executions.redrive(request));
      const second = redriving(of, { audit: stamp('redrive') });
      expectWhy(
        await expectUnaudited(store, () => store.executions.redrive(second)),
        'redrive-open',
      );
    },
  },
  {
    upholds: 'J-1, J-2',
    name: 'many re-drives at once leave one record each, and those of a job leave no record',
    async run({ store }) {
      const who = await worker(store);
      const targets: ExecutionId[] = [];
      for (let n = 0; n < 6; n += 1) targets.push(await ended(store, who));
      const job = await mustSubmit(store);
      const asked = targets.map((of, nth) =>
        redriving(of, nth % 2 === 0 ? { job } : { audit: stamp('redrive') }),
      );
      await Promise.all(asked.map((request) => store.executions.redrive(request)));
      assert.deepEqual(
        (await allAudit(store)).map(({ target }) => target.id).toSorted(),
        targets.filter((_, nth) => nth % 2 === 1),
      );
      const { ids } = await store.executions.find({ project: PROJECT, limit: 1 });
      const [open] = ids;
      assert(open !== undefined);
      await expectUnaudited(store, () => store.executions.cancel({ ...commanding(open), job }));
    },
  },
  {
    upholds: 'J-1, J-2',
    name: 'the start of a job is recorded once, with its filter; plain submits are not recorded',
    async run({ store }) {
      const audit = stamp('bulk-cancel', { about: { filter: { pipeline: 'orders' } } });
      const job = submitting({ key: 'all orders', intent: 'i' });
      const after = { status: 'queued', filter: { pipeline: 'orders' } };
      await expectAudited(store, ofExecution(job.id, audit, { after }), () =>
        Promise.all([
          store.executions.submit({ ...job, audit }),
          store.executions.submit(submitting()),
        ]),
      );
      const again = submitting({ key: 'all orders', intent: 'i' });
      const result = await expectUnaudited(store, () =>
        store.executions.submit({ ...again, audit: stamp('bulk-cancel') }),
      );
      assert.deepEqual(result, { kind: 'submitted', id: job.id, existing: true });
      const read = await store.executions.read(job.id);
      assert.equal(read !== undefined && 'audit' in read, false);
    },
  },
  {
    upholds: 'J-2',
    name: 'cancelling the children of an ended parent leaves no record',
    async run({ store }) {
      const who = await worker(store);
      const held = await running(store, who);
      const child = childOf(held.id, 'spawn:a#1');
      await mustFinish(store, held, { children: [child] });
      const { cancelled } = await expectUnaudited(store, () =>
        store.executions.maintain({ limit: 10 }),
      );
      assert.equal(cancelled, 1);
    },
  },
  {
    upholds: 'J-3',
    name: 'repeating an operation with its id leaves the first record as it is',
    async run({ store, advance }) {
      const { id } = await running(store, await worker(store));
      const audit = stamp('retry-compensation');
      const request = { ...signalling(id), audit };
      await store.executions.signal(request);
      const first = await allAudit(store);
      await advance(5_000);
      await store.executions.signal({ ...request, audit: { ...audit, actor: 'nobody' } });
      assert.deepEqual(await allAudit(store), first);
    },
  },
];
