import { registerLeaseContract } from './register.ts';
import { sqliteBackend } from './sqlite-backend.ts';

registerLeaseContract(sqliteBackend);
