import pg from 'pg';
import { PgBoss } from 'pg-boss';
import { DAY_MS, Ends, inBatches, untilNoneLeft } from './subject-tools.mjs';

const QUEUES = ['one', 'three', 'second', 'third', 'ping'];
const WORK = { pollingIntervalSeconds: 0.5, batchSize: 100, burstWhenBatchFull: true };

export async function open({ url }) {
  const boss = new PgBoss({ connectionString: url, max: 32, useListenNotify: true });
  boss.on('error', () => undefined);
  await boss.start();
  for (const queue of QUEUES) await boss.createQueue(queue, { notify: true });
  const pool = new pg.Pool({ connectionString: url, max: 1 });
  const ends = new Ends();
  let began = () => undefined;
  let next = 0;
  const pass = (queue) => (jobs) =>
    boss.insert(
      queue,
      jobs.map(({ data }) => ({ data })),
    );
  const end = async (jobs) => {
    for (const { data } of jobs) ends.ended(data.id);
  };
  const handlers = { one: end, three: pass('second'), second: pass('third'), third: end };
  return {
    settings:
      'LISTEN/NOTIFY, eight workers of 100 jobs per queue, burst; three steps are a chain of jobs',
    submitMany: (shape, count) =>
      inBatches(count, (batch) =>
        boss.insert(
          shape,
          batch.map((nth) => ({ data: { id: `m${nth}` } })),
        ),
      ),
    async work() {
      for (const [queue, handler] of Object.entries(handlers)) {
        for (let nth = 0; nth < 8; nth += 1) await boss.work(queue, WORK, handler);
      }
      await boss.work('ping', { ...WORK, batchSize: 1 }, async () => began());
    },
    finished: () =>
      untilNoneLeft(async () => {
        const { rows } = await pool.query(
          `select count(*) as n from pgboss.job where state in ('created', 'active', 'retry') and start_after <= now()`,
        );
        return Number(rows[0].n);
      }),
    async run(shape) {
      const id = `r${next++}`;
      const ended = ends.wait(id);
      await boss.send(shape, { id });
      await ended;
    },
    pickupMs: () =>
      new Promise((resolve, reject) => {
        const sentAt = performance.now();
        began = () => resolve(performance.now() - sentAt);
        boss.send('ping', {}).catch(reject);
      }),
    submitLater: (count) =>
      inBatches(count, (batch) =>
        boss.insert(
          'one',
          batch.map((nth) => ({ data: { id: `w${nth}` }, startAfter: DAY_MS / 1_000 })),
        ),
      ),
    async close() {
      await boss.stop({ graceful: false, wait: false }).catch(() => undefined);
      await pool.end();
    },
  };
}
