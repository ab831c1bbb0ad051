import { postgresBackend } from '../processes/stage/backend.ts';
import { postgresForTests } from '../services/postgres.ts';
import { registerWithLease } from './with-lease.ts';

registerWithLease(postgresBackend(postgresForTests));
