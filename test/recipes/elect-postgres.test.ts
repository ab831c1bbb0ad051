import { postgresBackend } from '../processes/stage/backend.ts';
import { postgresForTests } from '../services/postgres.ts';
import { registerElect } from './elect.ts';

registerElect(postgresBackend(postgresForTests));
