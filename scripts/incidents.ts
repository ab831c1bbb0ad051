// Sets up four incidents on a coordinator, and prints how long each takes to repair. To rehearse, start
// `holdfast dev`, run this, and use only the console.

import { createInterface } from 'node:readline';
import { type Incident, startIncidents } from './incidents/incidents.ts';

const [url = 'http://127.0.0.1:7433', key = process.env['HOLDFAST_KEY']] = process.argv.slice(2);
const LOOK_MS = 1_000;

const incidents = await startIncidents({ url, ...(key === undefined ? {} : { key }) });
const startedAt = performance.now();
let known: readonly Incident[] = await incidents.open();
console.log(`${known.length} incidents are open. Find and repair each: ${url}/console/`);
console.log(
  'Type w to start a worker that died again, v to end the outage of a vendor, q to stop.',
);

const timer = setInterval(() => void look(), LOOK_MS);

async function look(): Promise<void> {
  const open = await incidents.open();
  const seconds = Math.round((performance.now() - startedAt) / 1_000);
  for (const name of known) {
    if (!open.includes(name)) console.log(`Repaired after ${seconds} s: ${name}`);
  }
  known = open;
}

for await (const line of createInterface({ input: process.stdin })) {
  if (line === 'w') await incidents.restartWorker();
  if (line === 'v') incidents.endOutage();
  if (line === 'q') break;
}
clearInterval(timer);
await incidents.close();
