import { join } from 'node:path';
import { registerLineRace } from './line-race.ts';

registerLineRace('sqlite', (folder) => ({ kind: 'sqlite', file: join(folder, 'hf.db') }));
