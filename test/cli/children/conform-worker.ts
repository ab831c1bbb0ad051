// A worker for the conformance runner, as a process.

import { openWorker, stopRequested } from '../../../src/worker/open-worker.ts';
import { conformPipelines } from '../../conform/pipelines.ts';

const { HOLDFAST_URL: url = '', HOLDFAST_KEY: key } = process.env;
const at = { url, ...(key === undefined ? {} : { key }) };
const worker = await openWorker({
  ...{ ...at, pipelines: conformPipelines(at) },
  ttlMs: 3_000,
  stopGraceMs: 500,
});
await stopRequested();
await worker.stop();
