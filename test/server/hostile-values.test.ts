import { openMemoryStore } from '../../src/store/memory/open.ts';
import { registerHostileValues } from './hostile-values.ts';

registerHostileValues('memory', async () => openMemoryStore());
registerHostileValues('sqlite', async () => undefined);
