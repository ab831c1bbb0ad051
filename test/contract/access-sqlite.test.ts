import { registerAccessContract } from './register-access.ts';
import { sqliteBackend } from './sqlite-backend.ts';

registerAccessContract(sqliteBackend);
