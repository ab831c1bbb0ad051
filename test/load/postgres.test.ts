import { after } from 'node:test';
import { postgresForTests } from '../services/postgres.ts';
import { registerBoundedRecovery } from './bounded-recovery.ts';
import type { StorePlace } from './place.ts';
import { registerKilledRedrive } from './redrive.ts';
import { registerRollingRestart } from './rolling-restart.ts';
import { registerTakeoverRace } from './takeover-race.ts';

const database = postgresForTests();
let schemas = 0;

async function freshSchema(): Promise<StorePlace> {
  schemas += 1;
  return { kind: 'postgres', url: (await database).url, schema: `load_${schemas}` };
}

registerRollingRestart('postgres', freshSchema);
registerBoundedRecovery('postgres', freshSchema);
registerTakeoverRace('postgres', freshSchema);
registerKilledRedrive('postgres', freshSchema);

after(async () => (await database).release());
