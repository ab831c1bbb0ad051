// A worker that freezes itself with its transaction open: just before it sends the commit that has a child.

import { writeFileSync } from 'node:fs';
import { Holdfast } from '../../../src/engine/holdfast.ts';
import { openPostgresStore } from '../../../src/store/postgres/open.ts';
import { child, spawning } from '../spawning.ts';

const [url = '', schema = '', frozenFile = '', ttlMs = ''] = process.argv.slice(2);
let isSpawning = false;

const store = await openPostgresStore({
  url,
  schema,
  onBoundary(phase) {
    if (!isSpawning || phase === 'after') return;
    writeFileSync(frozenFile, '');
    process.kill(process.pid, 'SIGSTOP');
  },
});
const pipeline = spawning(() => {
  isSpawning = true;
});
await new Holdfast({ store }).worker({ pipelines: [pipeline, child], ttlMs: Number(ttlMs) });
