// A worker in a process of its own, so that it can be killed.

import { pipeline } from '../../src/index.ts';
import { openWorker } from '../../src/worker/open-worker.ts';

const [url = '', key] = process.argv.slice(2);

const resize = pipeline({
  name: 'resize-image',
  run: (ctx, { image }: { readonly image: string }) => ctx.step('resize', () => `${image}, small`),
});

await openWorker({
  ...{ url, pipelines: [resize], owner: 'resizer@host-7', ttlMs: 3_000 },
  ...(key === undefined ? {} : { key }),
});
process.send?.('ready');
