import { sqliteBackend } from '../processes/stage/backend.ts';
import { registerWithLease } from './with-lease.ts';

registerWithLease(sqliteBackend());
