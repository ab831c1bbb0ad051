// The lease contract through coordinators on SQLite, over REST, the stream and gRPC.

import { registerLeasesThrough } from './register.ts';
import { sqliteBackend } from './sqlite-backend.ts';

registerLeasesThrough(sqliteBackend, 'sqlite');
