import {
  registerAccessContract,
  registerExecutionContract,
  registerLeaseContract,
} from './register.ts';
import { sqliteBackend } from './sqlite-backend.ts';

registerLeaseContract(sqliteBackend);
registerExecutionContract(sqliteBackend);
registerAccessContract(sqliteBackend);
