// A worker for the conformance runner, as a process.

import { openWorker, stopRequested } from '../../../src/worker/open-worker.ts';
import { conformPipelines } from '../../conform/pipelines.ts';

const { HOLDFAST_URL: url = '', HOLDFAST_KEY: key } = process.env;
const worker = await openWorker({
  ...{ url, pipelines: conformPipelines },
  ...(key === undefined ? {} : { key }),
  ttlMs: 3_000,
  stopGraceMs: 500,
});
await stopRequested();
await worker.stop();
