// Notes, lists, and operations whose record cannot be written (J-1, J-5, J-6).

import assert from 'node:assert/strict';
import type { TerminalStatus } from '../../../src/execution/execution.ts';
import type { AuditId, ExecutionId, PipelineName } from '../../../src/execution/names.ts';
import type { AuditRecord, AuditStamp } from '../../../src/features/audit/model.ts';
import type { ListAudit, Note } from '../../../src/features/audit/port.ts';
import type { CoordinatorStore } from '../../../src/store/contract/execution-store.ts';
import { toInstant } from '../../../src/support/clock.ts';
import { interactionId, parkedOn } from '../awaits/awaiting.ts';
import type { ExecutionCase } from '../contract-case.ts';
import { expectWhy, leavesUnchanged } from '../expect.ts';
import { ended, redriving } from '../repair/repairing.ts';
import {
  commanding,
  mustPark,
  mustSubmit,
  nextId,
  OTHER_PROJECT,
  PROJECT,
  payload,
  running,
  submitting,
  worker,
} from '../worker.ts';
import { allAudit, auditIn, expectAudited, expectUnaudited, recordOf, stamp } from './auditing.ts';

const ENDS: readonly TerminalStatus[] = [
  ...(['completed', 'failed', 'cancelled', 'quarantined', 'compensated'] as const),
];

function noting(id: ExecutionId, options: Partial<Note> = {}): Note {
  return { id, project: PROJECT, audit: stamp('note', { reason: 'seen by me' }), ...options };
}

/** A stamp that no SQL store can store. */
function unstorable(action: AuditStamp['action']): AuditStamp {
  return { ...stamp(action), id: 'no id' as AuditId, actor: {} as string };
}

/** One operation of each kind of transaction. */
async function unrecordable(
  store: CoordinatorStore,
): Promise<readonly (() => Promise<{ readonly kind: string }>)[]> {
  const { executions } = store;
  const who = await worker(store);
  const failed = await ended(store, who);
  const { id } = await parkedOn(store, who);
  const command = { project: PROJECT, id: interactionId(id) };
  const schedule = { project: PROJECT, id: 's', plan: '{}', digest: 'a', nextAt: toInstant(1) };
  const template = { project: PROJECT, id: 't', version: 1, digest: 'a', defaults: payload({}) };
  const pipeline = 'orders' as PipelineName;
  return [
    () => executions.cancel(commanding(id, { audit: unstorable('cancel') })),
    () => executions.redrive(redriving(failed, { audit: unstorable('redrive') })),
    () => executions.cancelAwait({ ...command, audit: unstorable('cancel-await') }),
    () => executions.submit({ ...submitting(), audit: unstorable('bulk-redrive') }),
    () => executions.putSchedule({ ...schedule, audit: unstorable('put-schedule') }),
    () => executions.putTemplate({ ...template, pipeline, audit: unstorable('put-template') }),
  ];
}

async function acted(store: CoordinatorStore): Promise<Record<'a' | 'b' | 'other', ExecutionId>> {
  const a = await mustSubmit(store);
  const b = await mustSubmit(store);
  const other = await mustSubmit(store, { project: OTHER_PROJECT });
  const { executions } = store;
  for (const id of [a, b]) {
    const by = { actor: id === a ? 'ann' : 'bob' };
    await executions.pause(commanding(id, { audit: stamp('pause', by) }));
    await executions.resume(commanding(id, { audit: stamp('resume', by) }));
    await executions.note(noting(id, { audit: stamp('note', by) }));
    await executions.pause(commanding(id, { audit: stamp('pause', by) }));
  }
  const audit = stamp('pause', { actor: 'ann' });
  await executions.pause(commanding(other, { project: OTHER_PROJECT, audit }));
  return { a, b, other };
}

const recordedActions: readonly ExecutionCase[] = [
  {
    upholds: 'J-3, J-9',
    name: 'an operation outside the transaction is recorded once, with the requested change',
    async run({ store, now }) {
      const audit = stamp('end-session', { about: { asked: 'end' } });
      const target = { kind: 'session', id: 'a session' } as const;
      const record = recordOf(audit, PROJECT, target);
      const at = now();
      await expectAudited(store, { ...record, at, after: { asked: 'end' } }, async () => {
        await store.executions.recordOperation({ project: PROJECT, target, audit });
        await store.executions.recordOperation({ project: PROJECT, target, audit });
        return { kind: 'recorded' };
      });
    },
  },
];

export const auditNoteCases: readonly ExecutionCase[] = [
  ...recordedActions,
  {
    upholds: 'J-5, X-2',
    name: 'a note is added to an execution in any state, and nothing else about the execution changes',
    async run({ store }) {
      const who = await worker(store);
      const parked = await running(store, who);
      await mustPark(store, parked);
      const ids = [parked.id, (await running(store, who)).id];
      for (const status of ENDS) ids.push(await ended(store, who, { status }));
      ids.push(await mustSubmit(store));
      for (const id of ids) {
        const note = noting(id);
        const record = recordOf(note.audit, PROJECT, { kind: 'execution', id });
        await expectAudited(store, record, () =>
          leavesUnchanged(store, async () => {
            assert.deepEqual(await store.executions.note(note), { kind: 'noted' });
          }),
        );
        const again = await expectUnaudited(store, () => store.executions.note(note));
        assert.deepEqual(again, { kind: 'noted' });
      }
    },
  },
  {
    upholds: 'J-5, X-21',
    name: 'a note to a missing execution, or to one of another project, is refused',
    async run({ store }) {
      const id = await mustSubmit(store);
      const foreign = noting(id, { project: OTHER_PROJECT });
      for (const note of [foreign, noting(nextId())]) {
        const result = await expectUnaudited(store, () => store.executions.note(note));
        expectWhy(result, 'execution-unknown');
      }
    },
  },
  {
    upholds: 'J-6',
    name: 'records are listed newest first, page by page, by target, actor and action, within a project',
    async run({ store }) {
      const { a, b } = await acted(store);
      const all = await auditIn(store, PROJECT);
      assert.deepEqual(
        all.map(({ actor, action }) => `${actor} ${action}`),
        ['bob', 'ann'].flatMap((actor) =>
          ['pause', 'note', 'resume', 'pause'].map((operation) => `${actor} ${operation}`),
        ),
      );
      const byHand = async (
        filter: Partial<ListAudit>,
        fits: (record: AuditRecord) => boolean,
      ): Promise<void> => {
        const found = await store.executions.audit({ project: PROJECT, limit: 100, ...filter });
        const expected = all.filter(fits);
        assert.ok(expected.length > 0);
        assert.deepEqual(found, expected, JSON.stringify(filter));
        const before = expected[0]?.id as AuditId;
        const query = { project: PROJECT, limit: 1, ...filter, before };
        assert.deepEqual(await store.executions.audit(query), expected.slice(1, 2));
      };
      const target = { kind: 'execution', id: a } as const;
      await byHand({ target }, (each) => each.target.id === a);
      await byHand({ actor: 'bob' }, (each) => each.actor === 'bob');
      await byHand({ action: 'pause' }, (each) => each.action === 'pause');
      await byHand(
        { target: { ...target, id: b }, actor: 'bob', action: 'note' },
        (each) => each.target.id === b && each.action === 'note',
      );
      const schedule = { kind: 'schedule', id: a } as const;
      const none = { project: PROJECT, target: schedule, limit: 10 };
      assert.deepEqual(await store.executions.audit(none), []);
      assert.equal((await auditIn(store, OTHER_PROJECT)).length, 1);
    },
  },
  {
    upholds: 'J-1',
    name: 'an operation whose record cannot be stored has no effect',
    needs: 'durable',
    async run({ store }) {
      for (const operation of await unrecordable(store)) {
        await leavesUnchanged(store, () => assert.rejects(operation()));
      }
      assert.deepEqual(await allAudit(store), []);
      const schedules = await store.executions.schedules({ project: PROJECT, limit: 1 });
      const templates = await store.executions.templates({ project: PROJECT, limit: 1 });
      assert.deepEqual([schedules, templates], [[], []]);
    },
  },
  {
    upholds: 'J-1',
    name: 'when several callers cancel at once, only the one that succeeds is recorded',
    needs: 'two-clients',
    async run({ store, another }) {
      const others = [store, await another(), store];
      const id = await mustSubmit(store);
      const results = await Promise.all(
        others.map(({ executions }, nth) =>
          executions.cancel(commanding(id, { audit: stamp('cancel', { actor: `${nth}` }) })),
        ),
      );
      const winner = results.findIndex(({ kind }) => kind === 'done');
      assert.deepEqual(
        (await allAudit(store)).map(({ actor }) => actor),
        [`${winner}`],
      );
    },
  },
];
