import { pipeline } from '../../src/engine/pipeline.ts';
import { openWorker } from '../../src/worker/open-worker.ts';

const soak = pipeline({
  name: 'soak',
  async run(ctx, input: string) {
    for (const name of ['one', 'two', 'three']) await ctx.step(name, () => input);
    return input.length;
  },
});
await openWorker({ url: process.argv[2] ?? '', stream: true, pipelines: [soak], concurrency: 100 });
console.log('ready');
