import { Logger, makeWorkerUtils, run } from 'graphile-worker';
import pg from 'pg';
import { DAY_MS, Ends, inBatches, untilNoneLeft } from './subject-tools.mjs';

/** The fast way of its documentation for rates. Single jobs and chains are faster without. */
const BATCHED = { localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 };

const BATCHED_ROWS = ['submit', 'drained1', 'drained3', 'inFlight64', 'behindWaiting'];

export async function open({ url, concurrency, row }) {
  const isBatched = BATCHED_ROWS.includes(row);
  const width = Math.min(concurrency, 24);
  const logger = new Logger(() => () => undefined);
  const utils = await makeWorkerUtils({ connectionString: url, logger });
  await utils.migrate();
  const pool = new pg.Pool({ connectionString: url, max: 1 });
  const ends = new Ends();
  let began = () => undefined;
  let runner;
  let next = 0;
  const taskList = {
    one: async ({ id }) => ends.ended(id),
    three: async (payload, { addJob }) => addJob('second', payload),
    second: async (payload, { addJob }) => addJob('third', payload),
    third: async ({ id }) => ends.ended(id),
    ping: async () => began(),
  };
  return {
    settings: `concurrency ${width}, ${isBatched ? 'local queue 500, batched completion' : 'no local queue'}; three steps are a chain of jobs`,
    submitMany: (shape, count) =>
      inBatches(count, (batch) =>
        utils.addJobs(batch.map((nth) => ({ identifier: shape, payload: { id: `m${nth}` } }))),
      ),
    async work() {
      runner = await run({
        ...{ connectionString: url, taskList, logger, noHandleSignals: true },
        ...{ concurrency: width, maxPoolSize: width + 4, pollInterval: 1_000 },
        ...(isBatched && { preset: { worker: BATCHED } }),
      });
    },
    finished: () =>
      untilNoneLeft(async () => {
        const { rows } = await pool.query(
          'select count(*) as n from graphile_worker._private_jobs where run_at <= now()',
        );
        return Number(rows[0].n);
      }),
    async run(shape) {
      const id = `r${next++}`;
      const ended = ends.wait(id);
      await utils.addJob(shape, { id });
      await ended;
    },
    pickupMs: () =>
      new Promise((resolve, reject) => {
        const sentAt = performance.now();
        began = () => resolve(performance.now() - sentAt);
        utils.addJob('ping', {}).catch(reject);
      }),
    submitLater(count) {
      const runAt = new Date(Date.now() + DAY_MS);
      return inBatches(count, (batch) =>
        utils.addJobs(
          batch.map((nth) => ({ identifier: 'one', payload: { id: `w${nth}` }, runAt })),
        ),
      );
    },
    async close() {
      await runner?.stop();
      await utils.release();
      await pool.end();
    },
  };
}
