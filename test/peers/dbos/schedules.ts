import assert from 'node:assert/strict';
import { pipeline } from '../../../src/index.ts';
import {
  behaviour,
  cited,
  execution,
  played,
  type Scenario,
  shown,
  withWorker,
} from '../scenario.ts';

const report = pipeline({ name: 'report', run: () => 'sent' });

export const SCHEDULES: readonly Scenario[] = [
  cited(
    'scheduler: schedule-crud',
    '`holdfast.schedules.put`, `get`, `list`, `remove`',
    behaviour(
      'scheduling',
      'schedules are shown with their next times, paused, resumed and removed',
    ),
  ),
  cited(
    'scheduler: dynamic-scheduler-fires, delete-stops-firing',
    '`put({ id, every: 300, pipeline })`, `remove(id)`',
    behaviour(
      'scheduling',
      'a schedule fires once for each time, however many processes have workers',
    ),
    execution('scheduling/schedules', 'a removed schedule is gone'),
  ),
  cited(
    'scheduler: dynamic-scheduler-pause-resume',
    '`schedules.pause(id)`, `resume(id)`',
    execution(
      'scheduling/schedules',
      'a paused schedule has no next time, also when it is put again',
    ),
  ),
  cited(
    'scheduler: trigger-schedule',
    '`schedules.trigger(id, { key })`',
    behaviour(
      'scheduling',
      'a trigger submits now, once for each key, also while the schedule is paused',
    ),
  ),
  played(
    'scheduler: list-workflows-by-schedule-name',
    "`list({ attribute: { name: 'schedule', equals: id } })`",
    async (stage) => {
      const holdfast = await withWorker(stage, report);
      await holdfast.schedules.put({ id: 'nightly', cron: '0 3 * * *', pipeline: report });
      await holdfast.schedules.trigger('nightly');
      await holdfast.submit(report, undefined);
      const of = { attribute: { name: 'schedule', equals: 'nightly' } };
      assert.equal((await holdfast.list(of)).items.length, 1);
      assert.equal((await holdfast.list()).items.length, 2);
    },
  ),
  cited(
    'scheduler: backfill-schedule',
    '`schedules.backfill(id, { from, to })`',
    behaviour('scheduling', 'a backfill submits each past time once, also when it is repeated'),
  ),
  cited(
    'scheduler: automatic-backfill-on-restart',
    "`put({ catchUp: 'all', overlap: 'allow', … })`",
    shown('engine/schedules.test', 'after downtime, catchUp'),
  ),
  played(
    'scheduler: apply-schedules',
    'at start, `put` each of the set and `remove` the others; not one transaction',
    async (stage) => {
      const holdfast = stage.holdfast();
      const apply = async (ids: readonly string[]): Promise<readonly string[]> => {
        for (const id of ids) {
          await holdfast.schedules.put({ id, cron: '0 3 * * *', pipeline: report });
        }
        const { items } = await holdfast.schedules.list();
        for (const { id } of items) if (!ids.includes(id)) await holdfast.schedules.remove(id);
        return (await holdfast.schedules.list()).items.map(({ id }) => id).toSorted();
      };
      assert.deepEqual(await apply(['a', 'b']), ['a', 'b']);
      assert.deepEqual(await apply(['b', 'c']), ['b', 'c']);
    },
  ),
];
