import { join } from 'node:path';
import { registerRolloutRace } from './rollout-race.ts';

registerRolloutRace('sqlite', (folder) => ({ kind: 'sqlite', file: join(folder, 'hf.db') }));
