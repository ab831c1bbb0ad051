// Fan-out and fan-in. Each picture is one execution, which attaches a thumbnail; a few run at a time. The
// parent waits for all of them without occupying a worker, and then writes a report.
//
//   npm run example examples/executions/image-pipeline.ts

import { join } from 'node:path';
import { type ExecutionId, openHoldfast, pipeline } from 'holdfast';
import { Story } from '../leases/story.ts';
import { histogram, paint, shrink, toPpm } from './picture.ts';

const COUNT = 24;
const AT_ONCE = 4;
const SIZE = { width: 160, height: 120 };
const BINS = 8;
const FACTOR = 4;

interface Measured {
  readonly id: ExecutionId;
  readonly seed: number;
  readonly bins: readonly number[];
}

let running = 0;
let most = 0;

const image = pipeline<number, Measured>({
  name: 'image',
  async run(ctx, seed) {
    running += 1;
    most = Math.max(most, running);
    try {
      // Pictures are large, and the seed recreates them. So the step returns only the histogram.
      const bins = await ctx.step('histogram', () =>
        histogram(paint(seed, SIZE.width, SIZE.height), BINS),
      );
      const small = shrink(paint(seed, SIZE.width, SIZE.height), FACTOR);
      await ctx.attach('thumbnail.ppm', toPpm(small), 'image/x-portable-pixmap');
      return { id: ctx.id, seed, bins };
    } finally {
      running -= 1;
    }
  },
});

const album = pipeline<number, { readonly pictures: number; readonly pixels: number }>({
  name: 'album',
  async run(ctx, count) {
    const seeds = Array.from({ length: count }, (_, seed) => seed);
    const children = await ctx.fanOut(image, seeds, {
      lane: 'batch',
      concurrency: { key: `album/${ctx.id}`, limit: AT_ONCE },
    });
    const measured = await children.results();
    const total = measured.reduce(
      (sums, { bins }) => sums.map((sum, bin) => sum + (bins[bin] ?? 0)),
      new Array<number>(BINS).fill(0),
    );
    await ctx.attach('report.json', JSON.stringify({ measured, total }), 'application/json');
    return { pictures: measured.length, pixels: total.reduce((sum, each) => sum + each, 0) };
  },
});

const story = new Story();

await story.play('An album: many pictures at once, one report', async () => {
  const holdfast = await openHoldfast({ store: join(story.folder, 'album.db') });
  await holdfast.worker({ pipelines: [album, image] });
  const handle = await holdfast.submit(album, COUNT);
  story.print('album', `${COUNT} pictures, at most ${AT_ONCE} at once`);
  const { pictures, pixels } = await handle.result();
  story.print('album', `${pictures} pictures, ${pixels} pixels, ${most} at once at most`);
  story.mustBe(pixels === COUNT * SIZE.width * SIZE.height, 'every pixel was counted once');
  story.mustBe(most <= AT_ONCE, 'at most 4 ran at once');

  const report = await holdfast.attachment(handle.id, 'report.json');
  const { measured, total } = JSON.parse(Buffer.from(report ?? []).toString()) as {
    readonly measured: readonly Measured[];
    readonly total: readonly number[];
  };
  for (const [bin, count] of total.entries()) {
    const bar = '█'.repeat(Math.round((count / Math.max(...total)) * 40));
    story.print('brightness', `${String(bin + 1).padStart(2)} ${bar} ${count}`);
  }
  const bytes = await Promise.all(
    measured.map(async ({ id }) => (await holdfast.attachment(id, 'thumbnail.ppm'))?.length ?? 0),
  );
  story.mustBe(
    bytes.every((each) => each > (SIZE.width / FACTOR) * (SIZE.height / FACTOR) * 3),
    'every picture has its thumbnail',
  );
  story.print('album', `${bytes.length} thumbnails are attached to their executions`);
  await holdfast.close();
});
