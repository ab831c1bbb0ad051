import { DBOS, DBOSClient } from '@dbos-inc/dbos-sdk';
import pg from 'pg';
import { ASLEEP_MS, inFlight, pause, untilNoneLeft } from './subject-tools.mjs';

const POLL_MS = 10;

export async function open({ url }) {
  let began = () => undefined;
  let woke = () => undefined;
  const step = (name, fn) => DBOS.runStep(async () => fn(), { name });
  const flows = {
    one: DBOS.registerWorkflow((nth) => step('s1', () => nth), { name: 'one' }),
    three: DBOS.registerWorkflow(
      async (nth) => {
        const first = await step('s1', () => nth + 1);
        const second = await step('s2', () => first + 1);
        return step('s3', () => second + 1);
      },
      { name: 'three' },
    ),
    ping: DBOS.registerWorkflow(async () => began(), { name: 'ping' }),
    waits: DBOS.registerWorkflow(
      async () => {
        await DBOS.recv('go', 600);
        woke();
      },
      { name: 'waits' },
    ),
    parent: DBOS.registerWorkflow(
      async (children) => {
        const handles = await Promise.all(
          Array.from({ length: children }, (_, nth) => DBOS.startWorkflow(flows.one)(nth)),
        );
        return (await Promise.all(handles.map((each) => each.getResult()))).length;
      },
      { name: 'parent' },
    ),
  };
  const database = { systemDatabaseUrl: url, systemDatabasePoolSize: 20 };
  DBOS.setConfig({ name: 'bench', ...database, logLevel: 'error', applicationVersion: 'v1' });
  await DBOS.launch();
  const client = await DBOSClient.create(database);
  const pool = new pg.Pool({ connectionString: url, max: 1 });
  const enqueue = (shape, nth) =>
    client.enqueue(
      { queueName: 'work', workflowName: shape, appVersion: 'v1', applicationName: 'bench' },
      nth,
    );
  return {
    settings: `queue polled every ${POLL_MS} ms (default 1 s), worker concurrency 200, pool 20; one call per submit, 32 in flight`,
    submitMany: (shape, count) => inFlight(count, 32, (nth) => enqueue(shape, nth)),
    work: () =>
      DBOS.registerQueue('work', { minPollingIntervalMs: POLL_MS, workerConcurrency: 200 }),
    finished: () =>
      untilNoneLeft(async () => {
        const { rows } = await pool.query(
          `select count(*) as n from dbos.workflow_status where status in ('ENQUEUED', 'PENDING')`,
        );
        return Number(rows[0].n);
      }),
    // Its fastest way: the caller's process runs the workflow without a queue.
    run(shape) {
      const flow = flows[shape];
      return flow(1);
    },
    pickupMs: () =>
      new Promise((resolve, reject) => {
        const sentAt = performance.now();
        began = () => resolve(performance.now() - sentAt);
        enqueue('ping', 1).catch(reject);
      }),
    async wakeMs() {
      const { workflowID } = await DBOS.startWorkflow(flows.waits)();
      await pause(ASLEEP_MS);
      const awake = new Promise((resolve) => {
        woke = resolve;
      });
      const sentAt = performance.now();
      await DBOS.send(workflowID, 1, 'go');
      await awake;
      return performance.now() - sentAt;
    },
    fanOut(children) {
      const { parent } = flows;
      return parent(children);
    },
    async close() {
      await client.destroy();
      await pool.end();
      await DBOS.shutdown();
    },
  };
}
