import { join } from 'node:path';
import { test } from 'node:test';
import { recoversInTime } from './recovery-in-time.ts';

test('SQLite: P4: what a worker had that was killed under load is taken over within ttl + 2 s', (t) =>
  recoversInTime(t, (folder) => ({ kind: 'sqlite', file: join(folder, 'hf.db') }), 1));
