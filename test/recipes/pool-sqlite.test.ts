import { sqliteBackend } from '../processes/stage/backend.ts';
import { registerPool } from './pool.ts';

registerPool(sqliteBackend());
