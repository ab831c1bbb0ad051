import { join } from 'node:path';
import { test } from 'node:test';
import { nodesComeAndGo } from './nodes-come-and-go.ts';

test('a coordinator on a file that is killed and restarted, with killed and frozen workers, loses and doubles nothing', (t) =>
  nodesComeAndGo(t, (folder) => ({ kind: 'sqlite', file: join(folder, 'hf.db') }), {
    ...{ coordinators: 1, workers: 2, round: 60 },
  }));
