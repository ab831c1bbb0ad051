import { join } from 'node:path';
import { test } from 'node:test';
import { recoversInTime } from './recovery-in-time.ts';

test('SQLite: P4: executions of a worker killed under load are taken over within ttl + 2 s', (t) =>
  recoversInTime(t, (folder) => ({ kind: 'sqlite', file: join(folder, 'hf.db') }), 1));
