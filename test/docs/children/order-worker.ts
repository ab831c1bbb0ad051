// A worker of the pipeline order, for commands that need one. Arguments: the name and digest of its release.

import { pipeline } from '../../../src/index.ts';
import { openWorker, stopRequested } from '../../../src/worker/open-worker.ts';

const { HOLDFAST_URL: url = '' } = process.env;
const [, , name, digest = ''] = process.argv;
const order = pipeline({
  name: 'order',
  async run(ctx, input: { readonly sleep?: number }) {
    if (input.sleep !== undefined) await ctx.sleep(input.sleep);
    return ctx.step('ship', () => 'shipped');
  },
});
const worker = await openWorker({
  ...{ url, pipelines: [order] },
  ...(name === undefined ? {} : { release: { name, digest } }),
});
await stopRequested();
await worker.stop();
