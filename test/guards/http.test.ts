import { memoryMarks } from '../../src/guards/http.ts';
import {
  openHttp,
  startExpress,
  startFastify,
  startFencedRoutes,
  startFetchHandler,
} from './http-resource.ts';
import { testGuard } from './register.ts';

const SERVERS = [
  { name: 'HTTP guard in Fastify', start: startFastify },
  { name: 'HTTP guard in Express', start: startExpress },
  { name: 'HTTP guard of routes in Express', start: startFencedRoutes },
  { name: 'HTTP guard of a fetch handler', start: startFetchHandler },
] as const;

/** For each server; they share one guard. */
const SCHEDULES = 120;

for (const { name, start } of SERVERS) {
  const open = () => openHttp(start, memoryMarks());
  testGuard({ name, open, lanes: 4, schedules: SCHEDULES });
}
