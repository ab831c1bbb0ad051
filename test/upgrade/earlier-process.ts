// A process of an earlier build that begins one execution for each way to be open, and waits for
// its kill.

import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { pipeline as define, openHoldfast as open } from '../../src/index.ts';
import type { StorePlace } from '../load/place.ts';
import { until } from '../processes/stage/until.ts';
import { openWork, SUBMITTED } from './open-work.ts';

interface Start {
  /** The folder of the build's JavaScript. */
  readonly dist: string;
  readonly place: StorePlace;
}

const { dist, place } = JSON.parse(process.argv[2] ?? '') as Start;
const load = (path: string) => import(pathToFileURL(join(dist, path)).href);
const { openHoldfast } = (await load('embedded/open-holdfast.js')) as { openHoldfast: typeof open };
const { pipeline } = (await load('engine/pipeline.js')) as { pipeline: typeof define };
const { kind, ...options } = place;
const opened = await load(`store/${kind}/open.js`);
const store = await (kind === 'sqlite' ? opened.openSqliteStore : opened.openPostgresStore)(
  options,
);

let isRunning = false;
const pipelines = openWork({
  ...{ pipeline, isEarlier: true },
  onRunning: () => {
    isRunning = true;
  },
});
const holdfast = await openHoldfast({ store });
const ids = new Map<string, string>();
for (const name of SUBMITTED) ids.set(name, (await holdfast.submit(name, null, { key: name })).id);
const idOf = (name: string): string => ids.get(name) ?? '';
await holdfast.pause(idOf('queued'));
await holdfast.worker({ pipelines, ttlMs: 2_000 });

const hasEvent = async (name: string, of: string): Promise<boolean> =>
  (await holdfast.history(idOf(name))).some((event) => event.kind === of);
await until('every execution is open in its own way', async () => {
  const waiting = ['sleeping', 'receiving', 'asking', 'parent', 'paused'];
  const records = await Promise.all(waiting.map((name) => holdfast.read(idOf(name))));
  return (
    isRunning &&
    records.every((record) => record?.status === 'waiting') &&
    (await hasEvent('retrying', 'step-failed')) &&
    (await hasEvent('undoing', 'compensating'))
  );
});
await holdfast.pause(idOf('paused'));
process.send?.(Object.fromEntries(ids));
