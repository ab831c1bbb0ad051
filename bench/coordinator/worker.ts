// A worker over HTTP. The output of an execution is the time at which its code began.

import { pipeline } from '../../src/engine/pipeline.ts';
import { openWorker } from '../../src/worker/open-worker.ts';

const { url, key } = JSON.parse(process.argv[2] ?? '{}') as { url: string; key: string };
const timed = pipeline({
  name: 'timed',
  async run(ctx) {
    const beganAt = performance.timeOrigin + performance.now();
    for (const name of ['one', 'two', 'three']) await ctx.step(name, () => name);
    return beganAt;
  },
});
await openWorker({ url, key, stream: true, pipelines: [timed], concurrency: 1_000 });
console.log('ready');
process.on('message', () => process.send?.(process.cpuUsage()));
process.on('disconnect', () => process.exit(0));
