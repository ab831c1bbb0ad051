// A process that runs bulk jobs and nothing else, until it is killed.

import { Holdfast } from '../../src/engine/holdfast.ts';
import { pipeline } from '../../src/engine/pipeline.ts';
import type { Place } from '../executions/place.ts';
import { openStore } from '../executions/subject/open-subject.ts';

/** Whoever started it may be gone: it ends by itself. */
const LIMIT_MS = 1_200_000;
/** A death is known this long after it. */
const TTL_MS = 1_000;

setTimeout(() => process.exit(3), LIMIT_MS).unref();
const place = JSON.parse(process.argv[2] ?? '{}') as Place;
const holdfast = new Holdfast({ store: await openStore(place) });
// Every worker runs jobs; what they re-drive is left for others.
const nothing = pipeline({ name: 'nothing', run: () => undefined });
await holdfast.worker({ pipelines: [nothing], ttlMs: TTL_MS });
console.log('ready');
