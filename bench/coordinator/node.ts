// A coordinator in its own process, with authentication on, as in production.

import { openHoldfast } from '../../src/embedded/open-holdfast.ts';
import { openServer } from '../../src/server/serve.ts';
import type { StoreLocation } from '../executions/store-location.ts';

const location = JSON.parse(process.argv[2] ?? '{}') as StoreLocation;
const { store } = await openHoldfast({
  store:
    location.kind === 'sqlite' ? location.file : location.kind === 'postgres' ? location.url : '',
});
const server = await openServer({ store, port: 0 });
console.log(JSON.stringify({ url: server.url, key: server.firstKey }));
process.on('message', () => process.send?.(process.cpuUsage()));
process.on('disconnect', () => process.exit(0));
