import assert from 'node:assert/strict';
import type { ProjectName } from '../../../src/execution/names.ts';
import type { LeaseKey, SessionId } from '../../../src/lease/names.ts';
import { PROJECT_METADATA } from '../../../src/lease/session.ts';
import { keyOf, mustAcquire } from '../../lease/opened-session.ts';
import type { ExecutionCase } from '../contract-case.ts';
import { expectRefusedUnchanged } from '../expect.ts';
import {
  commanding,
  mustPark,
  mustSubmit,
  nextId,
  OTHER_PROJECT,
  PROJECT,
  running,
  signalling,
  worker,
} from '../worker.ts';

export const projectCases: readonly ExecutionCase[] = [
  {
    upholds: 'O-2, P-18',
    name: 'the leases of one session are listed page by page, and ended terms take no place on a page',
    async run({ store, advance }) {
      const ann = await worker(store);
      const bob = await worker(store, 'bob');
      const own: string[] = [];
      for (const name of ['a', 'b', 'c', 'd', 'e', 'f', 'g']) {
        const isShort = name === 'b' || name === 'c';
        const options = isShort ? { tenureMsMax: 1_000 } : {};
        const { key } = await mustAcquire(store, ann, { key: keyOf(name), ...options });
        if (!isShort) own.push(key);
        await mustAcquire(store, bob, { key: keyOf(`${name} of bob`) });
      }
      await advance(1_000);
      const listed: string[] = [];
      for (let size = 2; size === 2; ) {
        const after = listed.at(-1) as LeaseKey | undefined;
        const page = { limit: 2, ...(after === undefined ? {} : { after }) };
        const found = await store.sessions.leases(ann.id, page);
        size = found.length;
        listed.push(...found.map(({ key }) => key));
      }
      assert.deepEqual(listed, own);
    },
  },
  {
    upholds: 'O-2, P-18',
    name: 'the live sessions of one project are listed page by page, with their metadata',
    async run({ store }) {
      const { sessions } = store;
      const open = (name: string, project: ProjectName, parent?: SessionId) =>
        worker(store, name, {
          metadata: { [PROJECT_METADATA]: project, name },
          ...(parent === undefined ? {} : { parent }),
        });
      const own = [await open('own 1', PROJECT), await open('own 2', PROJECT)];
      own.push(await open('own 3', PROJECT, own[0]?.id));
      await open('other', OTHER_PROJECT);
      await worker(store, 'none');
      const ended = await open('ended', PROJECT);
      const by = { kind: 'owner', owner: ended.owner, exit: 'finished' } as const;
      await sessions.end({ id: ended.id, by });
      const first = await sessions.list({ project: PROJECT, limit: 2 });
      const after = first.at(-1)?.session.id;
      assert(after !== undefined);
      const second = await sessions.list({ project: PROJECT, limit: 2, after });
      assert.deepEqual(
        [...first, ...second].map(({ session }) => [session.id, session.metadata['name']]),
        own
          .map(({ id, owner }) => [id, String(owner)])
          .sort(([a = ''], [b = '']) => (a < b ? -1 : 1)),
      );
    },
  },
  {
    upholds: 'X-21',
    name: 'commands of another project do not find an execution, whatever its status',
    async run({ store }) {
      const ann = await worker(store);
      const { executions } = store;
      const busy = await running(store, ann);
      const waiting = await running(store, ann);
      await mustPark(store, waiting);
      const queued = await mustSubmit(store);
      const gone = await mustSubmit(store);
      await executions.cancel(commanding(gone));
      const project = { project: OTHER_PROJECT };
      for (const id of [busy.id, waiting.id, queued, gone, nextId()]) {
        for (const operation of [
          () => executions.cancel(commanding(id, project)),
          () => executions.pause(commanding(id, project)),
          () => executions.resume(commanding(id, project)),
          () => executions.signal({ ...signalling(id), ...project }),
        ]) {
          await expectRefusedUnchanged(store, 'execution-unknown', operation);
        }
      }
    },
  },
  {
    upholds: 'X-21, X-22',
    name: 'a list shows one project',
    async run({ store }) {
      const mine = await mustSubmit(store, { tags: ['a'] });
      const theirs = await mustSubmit(store, { tags: ['a'], project: OTHER_PROJECT });
      for (const [project, id] of [
        [PROJECT, mine],
        [OTHER_PROJECT, theirs],
      ] as const) {
        for (const filter of [{}, { tag: 'a' }, { status: ['queued'] as const }]) {
          const { ids } = await store.executions.find({ project, limit: 10, ...filter });
          assert.deepEqual(ids, [id]);
        }
      }
    },
  },
];
