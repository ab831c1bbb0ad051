import { postgresBackend } from '../processes/stage/backend.ts';
import { postgresForTests } from '../services/postgres.ts';
import { registerPool } from './pool.ts';

registerPool(postgresBackend(postgresForTests));
