import { sqliteBackend } from '../processes/stage/backend.ts';
import { registerElect } from './elect.ts';

registerElect(sqliteBackend());
