import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { registerEarlierStore } from './earlier-store.ts';

const folder = mkdtemp(join(tmpdir(), 'hf-earlier-'));
after(async () => rm(await folder, { recursive: true, force: true }));

registerEarlierStore('sqlite', async () => ({ kind: 'sqlite', file: join(await folder, 'hf.db') }));
