import { registerExecutionContract } from './register-executions.ts';
import { sqliteBackend } from './sqlite-backend.ts';

registerExecutionContract(sqliteBackend);
