import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';
import { registerHostileValues } from './hostile-values.ts';

registerHostileValues('memory', async () => openMemoryStore());
registerHostileValues('sqlite', async () => undefined);
