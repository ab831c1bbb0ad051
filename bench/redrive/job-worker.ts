// A process that runs only bulk jobs, until it is killed.

import { Holdfast } from '../../src/engine/holdfast.ts';
import { pipeline } from '../../src/engine/pipeline.ts';
import type { StoreLocation } from '../executions/store-location.ts';
import { openStore } from '../executions/subject/open-subject.ts';

/** The process exits by itself, in case its parent has died. */
const LIMIT_MS = 1_200_000;
/** The time until another worker takes over after a kill. */
const TTL_MS = 1_000;

setTimeout(() => process.exit(3), LIMIT_MS).unref();
const location = JSON.parse(process.argv[2] ?? '{}') as StoreLocation;
const holdfast = new Holdfast({ store: await openStore(location) });
// Every worker runs jobs. This one has no pipeline of the re-driven executions.
const nothing = pipeline({ name: 'nothing', run: () => undefined });
await holdfast.worker({ pipelines: [nothing], ttlMs: TTL_MS });
console.log('ready');
