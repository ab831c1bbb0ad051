import { OpenWorkflow } from 'openworkflow';
import { BackendPostgres } from 'openworkflow/postgres';
import { inFlight } from './subject-tools.mjs';

const WIDTH = 32;

export async function open({ url }) {
  const backend = await BackendPostgres.connect(url);
  const engine = new OpenWorkflow({ backend });
  let began = () => undefined;
  const flows = {
    one: engine.defineWorkflow({ name: 'one' }, ({ input, step }) =>
      step.run({ name: 's1' }, async () => input.nth),
    ),
    three: engine.defineWorkflow({ name: 'three' }, async ({ input, step }) => {
      const first = await step.run({ name: 's1' }, async () => input.nth + 1);
      const second = await step.run({ name: 's2' }, async () => first + 1);
      return step.run({ name: 's3' }, async () => second + 1);
    }),
    ping: engine.defineWorkflow({ name: 'ping' }, async () => {
      began();
      return 1;
    }),
  };
  const handles = [];
  let worker;
  return {
    settings: `concurrency ${WIDTH}, one call per submit, ${WIDTH} in flight; its worker and its \`result()\` poll, at fixed intervals`,
    submitMany: (shape, count) =>
      inFlight(count, WIDTH, async (nth) => handles.push(await flows[shape].run({ nth }))),
    async work() {
      worker = engine.newWorker({ concurrency: WIDTH });
      await worker.start();
    },
    finished: () => Promise.all(handles.map((handle) => handle.result())),
    run: async (shape) => (await flows[shape].run({ nth: 1 })).result(),
    pickupMs: () =>
      new Promise((resolve, reject) => {
        const sentAt = performance.now();
        began = () => resolve(performance.now() - sentAt);
        flows.ping.run({ nth: 1 }).catch(reject);
      }),
    async close() {
      await worker?.stop();
    },
  };
}
