import { sqliteBackend } from '../processes/stage/backend.ts';
import { registerRegistry } from './registry.ts';

registerRegistry(sqliteBackend());
