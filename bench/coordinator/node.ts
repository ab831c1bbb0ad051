// A coordinator, as a process of its own, with keys on as in real life.

import { openHoldfast } from '../../src/embedded/open-holdfast.ts';
import { openServer } from '../../src/server/serve.ts';
import type { Place } from '../executions/place.ts';

const place = JSON.parse(process.argv[2] ?? '{}') as Place;
const { store } = await openHoldfast({
  store: place.kind === 'sqlite' ? place.file : place.kind === 'postgres' ? place.url : '',
});
const server = await openServer({ store, port: 0 });
console.log(JSON.stringify({ url: server.url, key: server.firstKey }));
process.on('disconnect', () => process.exit(0));
