import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { registerPinned } from './pinned.ts';

const folder = mkdtemp(join(tmpdir(), 'hf-pinned-'));
after(async () => rm(await folder, { recursive: true, force: true }));

registerPinned('sqlite', async () => ({ kind: 'sqlite', file: join(await folder, 'hf.db') }));
