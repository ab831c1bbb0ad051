import { registerFileContracts } from './register.ts';
import { sqliteBackend } from './sqlite-backend.ts';

registerFileContracts(sqliteBackend);
