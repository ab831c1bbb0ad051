import { registerFirstOpen } from './first-open.ts';
import { sqliteBackend } from './stage/backend.ts';

registerFirstOpen(sqliteBackend());
