// Sets up four incidents on a coordinator, and prints how long each takes to repair. To rehearse, run
// `npm start`, run this beside it, and use only the console.

import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { type Incident, startIncidents } from './incidents/incidents.ts';

const HELP = `npm run incidents -- [<url> [<key>]]

Sets up four incidents on a running coordinator and prints how long each takes to repair.
Start a coordinator in another terminal first: npm start

  <url>  Coordinator (default http://127.0.0.1:7433, where npm start listens)
  <key>  Access key with all roles (default HOLDFAST_KEY; npm start needs none)`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { help: { type: 'boolean', short: 'h', default: false } },
});
if (values.help) {
  console.log(HELP);
  process.exit();
}
const [url = 'http://127.0.0.1:7433', key = process.env['HOLDFAST_KEY']] = positionals;
const LOOK_MS = 1_000;

const isThere = await fetch(new URL('/healthz', url)).then(
  ({ ok }) => ok,
  () => false,
);
if (!isThere) {
  console.error(
    `No coordinator responds at ${url}. Nothing was set up. Start one in another terminal (npm start), or pass the URL of yours: npm run incidents -- <url> <key>`,
  );
  process.exit(1);
}
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
