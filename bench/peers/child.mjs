// Measures one row of one subject: node child.mjs '{"subject":"dbos","row":"drained3",…}'
// It prints one line of JSON.

import { inFlight, pause } from './subjects/subject-tools.mjs';

const { subject: name, row, count, place } = JSON.parse(process.argv[2] ?? '{}');
const LIMIT_MS = 180_000;
setTimeout(() => process.exit(3), LIMIT_MS).unref();

const WARM_UP = 50;
const CHILDREN = 1_000;
const WAITING = 100_000;

/** Each returns its latencies, or how long the work took. */
const ROWS = {
  async submit({ submitMany }) {
    return timed(() => submitMany('one', count));
  },
  drained1: (subject) => drained(subject, 'one'),
  drained3: (subject) => drained(subject, 'three'),
  async inFlight64({ work, run }) {
    await work();
    await inFlight(WARM_UP, 64, () => run('three'));
    return timed(() => inFlight(count, 64, () => run('three')));
  },
  async oneAtATime({ work, run }) {
    await work();
    return latencies(() => timed(() => run('three')));
  },
  async pickup({ work, pickupMs }) {
    await work();
    return latencies(async () => {
      // A random pause, so that no rhythm of a poll is met by chance.
      await pause(20 + Math.random() * 40);
      return { tookMs: await pickupMs() };
    });
  },
  async wake({ work, wakeMs }) {
    await work();
    return latencies(async () => ({ tookMs: await wakeMs() }));
  },
  async fanOut({ work, fanOut }) {
    await work();
    return latencies(() => timed(() => fanOut(CHILDREN)));
  },
  /** The longest time without an end, while the parent restarts the database. */
  async restart({ work, run }) {
    await work();
    await inFlight(WARM_UP, 64, () => run('three'));
    let endedAt = performance.now();
    let longestMs = 0;
    await inFlight(count, 64, async (nth) => {
      if (nth === Math.floor(count / 2)) console.log('restart');
      await untilDone(() => run('three'));
      longestMs = Math.max(longestMs, performance.now() - endedAt);
      endedAt = performance.now();
    });
    return { latencies: [longestMs] };
  },
  async behindWaiting(subject) {
    await subject.submitLater(WAITING);
    return drained(subject, 'one');
  },
};

async function untilDone(operation) {
  for (;;) {
    try {
      return await operation();
    } catch {
      await pause(20);
    }
  }
}

async function drained({ submitMany, work, finished }, shape) {
  await submitMany(shape, count);
  return timed(async () => {
    await work();
    await finished();
  });
}

async function latencies(measure) {
  const found = [];
  for (let nth = 0; nth < count + count / 5; nth += 1) {
    const { tookMs } = await measure();
    if (nth >= count / 5) found.push(tookMs);
  }
  return { latencies: found };
}

async function timed(work) {
  const startedAt = performance.now();
  await work();
  return { tookMs: performance.now() - startedAt };
}

const { open } = await import(`./subjects/${name}.mjs`);
const subject = await open({ ...place, row, concurrency: 1_000 });
const { tookMs, latencies: found } = await ROWS[row](subject);
console.log(
  JSON.stringify({
    settings: subject.settings,
    peakMb: process.resourceUsage().maxRSS / 1_024,
    ...(found === undefined ? { perSecond: (count / tookMs) * 1_000 } : summary(found)),
  }),
);
await Promise.race([subject.close(), pause(5_000)]);
process.exit(0);

function summary(values) {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (part) => sorted[Math.min(sorted.length - 1, Math.ceil(part * sorted.length) - 1)];
  return { p50Ms: at(0.5), p99Ms: at(0.99) };
}
