// Operations on awaits, schedules and templates write their audit record in the same transaction
// (J-1 … J-4).

import assert from 'node:assert/strict';
import type { PipelineName } from '../../../src/execution/names.ts';
import type { AuditRecord } from '../../../src/features/audit/model.ts';
import type { ListAudit } from '../../../src/features/audit/port.ts';
import { toInstant } from '../../../src/support/clock.ts';
import { expectKind } from '../../lease/expect.ts';
import { answering, answeringEarly, interactionId, parkedOn } from '../awaits/awaiting.ts';
import type { ExecutionCase } from '../contract-case.ts';
import { expectWhy } from '../expect.ts';
import { changing, mustActivate, mustChange, mustRegister } from '../releases/releasing.ts';
import {
  commanding,
  mustSubmit,
  OTHER_PROJECT,
  PIPELINE,
  PROJECT,
  payload,
  worker,
} from '../worker.ts';
import { expectAudited, expectUnaudited, recordOf, stamp } from './auditing.ts';

const SCHEDULE = { project: PROJECT, id: 'nightly' } as const;
const ON_SCHEDULE: AuditRecord['target'] = { kind: 'schedule', id: 'nightly' };
const NEXT = toInstant(Date.UTC(2030, 0, 2));
const LATER = toInstant(Date.UTC(2030, 0, 3));

export const auditedOtherCases: readonly ExecutionCase[] = [
  {
    upholds: 'J-1, J-2, J-4',
    name: 'changes of a rollout are recorded with the releases before and after',
    async run({ store }) {
      await mustRegister(store, 'v1');
      await mustActivate(store, 'v2');
      const target: AuditRecord['target'] = { kind: 'rollout', id: PIPELINE };
      const activate = stamp('activate-release');
      const activated = recordOf(activate, PROJECT, target);
      const after = { active: 'v1', previous: 'v2' };
      await expectAudited(
        store,
        { ...activated, before: { active: 'v2' }, after: { ...after, release: 'v1' } },
        () => mustChange(store, 'activate', { name: 'v1', audit: activate }),
      );
      const same = changing('activate', { name: 'v1', audit: stamp('activate-release') });
      await expectUnaudited(store, () => store.executions.changeRollout(same));
      const back = stamp('roll-back-release');
      await expectAudited(
        store,
        {
          ...recordOf(back, PROJECT, target),
          ...{ before: after, after: { active: 'v2', release: 'v2' } },
        },
        () => mustChange(store, 'roll-back', { audit: back }),
      );
      const retire = stamp('retire-release');
      await expectAudited(
        store,
        {
          ...recordOf(retire, PROJECT, target),
          ...{ before: { active: 'v2' }, after: { active: 'v2', release: 'v1' } },
        },
        () => mustChange(store, 'retire', { name: 'v1', audit: retire }),
      );
    },
  },
  {
    upholds: 'J-6',
    name: 'the records of an execution include those of its questions, and no others',
    async run({ store }) {
      const ann = await worker(store);
      const [held, other] = [await parkedOn(store, ann), await parkedOn(store, ann)];
      const note = stamp('note');
      await store.executions.note({ id: held.id, project: PROJECT, audit: note });
      const answer = stamp('answer');
      await store.executions.answer({ ...answering(interactionId(held.id)), audit: answer });
      const theirs = { ...answering(interactionId(other.id)), audit: stamp('answer') };
      await store.executions.answer(theirs);
      const found = async (query: Partial<ListAudit> = {}): Promise<readonly string[]> => {
        const all = { project: PROJECT, execution: held.id, limit: 9, ...query };
        return (await store.executions.audit(all)).map(({ id }) => id);
      };
      assert.deepEqual(await found(), [answer.id, note.id]);
      assert.deepEqual(await found({ limit: 1 }), [answer.id]);
      assert.deepEqual(await found({ before: answer.id }), [note.id]);
      assert.deepEqual(await found({ action: 'note' }), [note.id]);
      assert.deepEqual(await found({ project: OTHER_PROJECT }), []);
    },
  },
  {
    upholds: 'J-1, J-2, J-4',
    name: 'extending, assigning and cancelling an await are recorded with its time and assignee',
    async run({ store, now }) {
      const held = await parkedOn(store, await worker(store));
      const id = interactionId(held.id);
      const command = { project: PROJECT, id };
      const target: AuditRecord['target'] = { kind: 'interaction', id };
      const open = { status: 'open', await: 'open', answered: 0 };
      const timed = { ...open, dueAt: now() + 60_000 };
      const extend = stamp('extend-await');
      const extended = recordOf(extend, PROJECT, target);
      await expectAudited(store, { ...extended, before: open, after: timed }, () =>
        store.executions.extendAwait({ ...command, dueInMs: 60_000, audit: extend }),
      );
      const assign = stamp('assign-await');
      const anns = { ...timed, assignee: 'ann' };
      const assigned = recordOf(assign, PROJECT, target);
      await expectAudited(store, { ...assigned, before: timed, after: anns }, () =>
        store.executions.assignAwait({ ...command, assignee: 'ann', audit: assign }),
      );
      const same = { ...command, assignee: 'ann', audit: stamp('assign-await') };
      expectKind(await expectUnaudited(store, () => store.executions.assignAwait(same)), 'done');
      const foreign = { ...same, project: OTHER_PROJECT };
      await expectUnaudited(store, () => store.executions.cancelAwait(foreign));
      const cancel = stamp('cancel-await');
      const closed = { ...anns, status: 'closed', await: 'cancelled' };
      const cancelled = recordOf(cancel, PROJECT, target);
      await expectAudited(store, { ...cancelled, before: anns, after: closed }, () =>
        store.executions.cancelAwait({ ...command, audit: cancel }),
      );
      const again = { ...command, audit: stamp('cancel-await') };
      const refused = await expectUnaudited(store, () => store.executions.cancelAwait(again));
      expectWhy(refused, 'await-settled');
    },
  },
  {
    upholds: 'J-1, J-2, J-4',
    name: 'an answer is recorded only if it counts: not a repeated, conflicting or late one',
    async run({ store, advance, now }) {
      const who = await worker(store);
      const held = await parkedOn(store, who, { items: 2, timeoutMs: 10_000 });
      const id = interactionId(held.id);
      const before = { status: 'open', await: 'open', answered: 0, dueAt: now() + 10_000 };
      const audit = stamp('answer');
      const record = recordOf(audit, PROJECT, { kind: 'interaction', id });
      const after = { ...before, status: 'answered', answered: 1 };
      await expectAudited(store, { ...record, before, after }, () =>
        store.executions.answer({ ...answering(id), audit }),
      );
      const same = { ...answering(id), audit: stamp('answer') };
      expectKind(await expectUnaudited(store, () => store.executions.answer(same)), 'existing');
      const other = { ...answering(id, 'no'), audit: stamp('answer') };
      const refused = await expectUnaudited(store, () => store.executions.answer(other));
      expectWhy(refused, 'answer-conflict');
      await advance(10_000);
      const late = { ...answering(interactionId(held.id, 1)), audit: stamp('answer') };
      expectWhy(await expectUnaudited(store, () => store.executions.answer(late)), 'answer-late');
    },
  },
  {
    upholds: 'J-1, J-4',
    name: 'an early answer is recorded when it is kept, and the record of a settling answer shows the settled await',
    async run({ store }) {
      const execution = await mustSubmit(store);
      const early = stamp('answer');
      const id = interactionId(execution);
      const kept = recordOf(early, PROJECT, { kind: 'interaction', id });
      await expectAudited(store, { ...kept, after: { status: 'early' } }, () =>
        store.executions.answer({ ...answeringEarly(execution), audit: early }),
      );
      await store.executions.cancel(commanding(execution));
      const held = await parkedOn(store, await worker(store));
      const last = stamp('answer');
      const target = { kind: 'interaction', id: interactionId(held.id) } as const;
      const change = {
        before: { status: 'open', await: 'open', answered: 0 },
        after: { status: 'answered', await: 'answered', answered: 1 },
      };
      await expectAudited(store, { ...recordOf(last, PROJECT, target), ...change }, () =>
        store.executions.answer({ ...answering(target.id), audit: last }),
      );
    },
  },
  {
    upholds: 'J-1, J-2, J-4',
    name: 'putting, changing, pausing, resuming and removing a schedule is recorded each time',
    async run({ store }) {
      const { executions } = store;
      const plan = { ...SCHEDULE, plan: '{}', digest: 'a', nextAt: NEXT };
      const first = { paused: false, nextAt: NEXT, digest: 'a' };
      const second = { paused: false, nextAt: LATER, digest: 'b' };
      const put = stamp('put-schedule', { about: { when: { every: 1_000 } } });
      const change = stamp('put-schedule');
      const made = { ...recordOf(put, PROJECT, ON_SCHEDULE), after: { ...first, ...put.about } };
      await expectAudited(store, made, () => executions.putSchedule({ ...plan, audit: put }));
      const again = { ...plan, audit: stamp('put-schedule') };
      await expectUnaudited(store, () => executions.putSchedule(again));
      const other = { ...plan, digest: 'b', nextAt: LATER, audit: change };
      const changed = { ...recordOf(change, PROJECT, ON_SCHEDULE), before: first, after: second };
      await expectAudited(store, changed, () => executions.putSchedule(other));
      const pause = stamp('pause-schedule');
      const rest = { paused: true, digest: 'b' };
      const paused = { ...recordOf(pause, PROJECT, ON_SCHEDULE), before: second, after: rest };
      await expectAudited(store, paused, () =>
        executions.pauseSchedule({ ...SCHEDULE, audit: pause }),
      );
      const pauseAgain = { ...SCHEDULE, audit: stamp('pause-schedule') };
      await expectUnaudited(store, () => executions.pauseSchedule(pauseAgain));
      const resume = stamp('resume-schedule');
      const resuming = { ...SCHEDULE, digest: 'b', nextAt: LATER, audit: resume };
      const stale = { ...resuming, digest: 'a', audit: stamp('resume-schedule') };
      await expectUnaudited(store, () => executions.resumeSchedule(stale));
      const resumed = { ...recordOf(resume, PROJECT, ON_SCHEDULE), before: rest, after: second };
      await expectAudited(store, resumed, () => executions.resumeSchedule(resuming));
      const remove = stamp('remove-schedule');
      const removed = { ...recordOf(remove, PROJECT, ON_SCHEDULE), before: second };
      await expectAudited(store, removed, () =>
        executions.removeSchedule({ ...SCHEDULE, audit: remove }),
      );
      for (const operation of ['pauseSchedule', 'removeSchedule'] as const) {
        const gone = { ...SCHEDULE, audit: stamp('remove-schedule') };
        await expectUnaudited<unknown>(store, () => executions[operation](gone));
      }
    },
  },
  {
    upholds: 'J-1, J-2, J-4',
    name: 'a new template is recorded with its version; a repeated or refused one is not recorded',
    async run({ store }) {
      const template = {
        ...{ project: PROJECT, id: 'import', version: 2, digest: 'a', defaults: payload({}) },
        pipeline: 'orders' as PipelineName,
      };
      const audit = stamp('put-template');
      const target = { kind: 'template', id: 'import' } as const;
      const after = { version: 2, pipeline: 'orders', digest: 'a' };
      await expectAudited(store, { ...recordOf(audit, PROJECT, target), after }, () =>
        store.executions.putTemplate({ ...template, audit }),
      );
      const again = { ...template, audit: stamp('put-template') };
      await expectUnaudited(store, () => store.executions.putTemplate(again));
      const other = { ...again, digest: 'b' };
      const refused = await expectUnaudited(store, () => store.executions.putTemplate(other));
      expectWhy(refused, 'template-conflict');
      const stored = await store.executions.template({ project: PROJECT, id: 'import' });
      if (stored !== undefined && 'audit' in stored) throw new Error('a template has no audit');
    },
  },
];
