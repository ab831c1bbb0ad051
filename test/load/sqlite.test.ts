import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { registerBoundedRecovery } from './bounded-recovery.ts';
import type { PlaceIn } from './place.ts';
import { registerKilledRedrive } from './redrive.ts';
import { registerRollingRestart } from './rolling-restart.ts';
import { registerTakeoverRace } from './takeover-race.ts';

const folder = await mkdtemp(join(tmpdir(), 'hf-race-'));
after(() => rm(folder, { recursive: true, force: true }));

const inFolder: PlaceIn = (place) => ({ kind: 'sqlite', file: join(place, 'hf.db') });

registerRollingRestart('sqlite', inFolder);
registerBoundedRecovery('sqlite', inFolder);
registerTakeoverRace('sqlite', () => inFolder(folder));
registerKilledRedrive('sqlite', inFolder);
