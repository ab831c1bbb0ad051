// npm run soak [-- --minutes 60 --store sqlite --store postgres --rate 20 --plant keeps-all --out folder]

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { curvesSvg, tableOf, trendOf } from './curves.ts';
import { type SoakStore, soak } from './soak.ts';

const STORES: readonly SoakStore[] = ['sqlite', 'postgres'];

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '60' },
    store: { type: 'string', multiple: true },
    rate: { type: 'string' },
    plant: { type: 'string' },
    out: { type: 'string', default: join(import.meta.dirname, '../../.cache/soak') },
  },
});
const stores = STORES.filter((store) => values.store?.includes(store) ?? true);
const minutes = Number(values.minutes);
const rate = values.rate === undefined ? undefined : Number(values.rate);
const isPlanted = (values.plant ?? 'keeps-all') === 'keeps-all';
if (stores.length === 0 || !(minutes > 0) || !((rate ?? 1) > 0) || !isPlanted) {
  const words = `--store takes ${STORES.join(' or ')}, --minutes and --rate a number above 0`;
  console.error(`${words}, --plant keeps-all.`);
  process.exit(2);
}
await mkdir(values.out, { recursive: true });
let problems = 0;
for (const store of stores) {
  const keepsAll = values.plant === 'keeps-all';
  const soaked = await soak({ store, minutes, rate, keepsAll, onProgress: console.log });
  const { peakPerSecond, perSecond, executions, seconds, waitedShare, curves } = soaked;
  const file = join(values.out, `${store}.svg`);
  await writeFile(file, curvesSvg(`Soak on ${store}`, curves, seconds));
  const held = `${executions} executions in ${seconds.toFixed(0)} s, ${perSecond.toFixed(0)} per second`;
  const share = `${((perSecond / peakPerSecond) * 100).toFixed(0)} % of the peak`;
  console.log(`\n${store}: ${held} (${share}). Curves: ${file}\n`);
  console.log(tableOf(curves).join('\n'));
  const waited = `${(waitedShare * 100).toFixed(0)} % of their time for a CPU`;
  console.log(`\nOur processes waited ${waited}. The latencies leave this share out.`);
  console.log(`${soaked.repeated} calls were repeated, because the store did not respond.`);
  const rising = curves.filter((curve) => !trendOf(curve).isFlat);
  const found = [...soaked.problems, ...rising.map(({ name }) => `"${name}" is not flat.`)];
  for (const problem of found) console.log(`✖ ${problem}`);
  problems += found.length;
}
console.log(problems === 0 ? 'Every curve is flat.' : `${problems} problems.`);
process.exit(problems === 0 ? 0 : 1);
