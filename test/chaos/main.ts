// npm run chaos [-- --minutes 2 --seed 7 --fault "worker frozen" --plant stale-effect
//   --patroni synchronous --out folder]

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { faultsFor, UPGRADE } from './faults.ts';
import { reportLines, throughputSvg } from './report.ts';
import { runChaos } from './run.ts';
import { PLANTS } from './stage.ts';

const COMMITS = ['synchronous', 'asynchronous'] as const;

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '2' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1e6)) },
    fault: { type: 'string', multiple: true },
    plant: { type: 'string' },
    patroni: { type: 'string' },
    out: { type: 'string', default: join(import.meta.dirname, '../../.cache/chaos') },
  },
});

const plant = PLANTS.find((name) => name === values.plant);
const patroni = COMMITS.find((name) => name === values.patroni);
const usual = faultsFor(patroni);
const all = [...usual, UPGRADE];
const faults = values.fault ? all.filter(({ name }) => values.fault?.includes(name)) : usual;
if (faults.length === 0 || plant !== values.plant || patroni !== values.patroni) {
  const names = all.map(({ name }) => `"${name}"`).join(', ');
  console.error(
    `--fault takes one of ${names}; --plant takes one of ${PLANTS.join(', ')}; --patroni takes one of ${COMMITS.join(', ')}.`,
  );
  process.exit(2);
}
const [minutes, seed] = [Number(values.minutes), Number(values.seed)];
console.log(`Chaos for ${minutes} minutes with --seed ${seed}.`);
const startMs = Date.now();
const onFault = (name: string): void =>
  console.log(`${((Date.now() - startMs) / 1_000).toFixed(0).padStart(5)} s  ${name}`);
const verdict = await runChaos({ minutes, seed, faults, onFault, plant, patroni });
const lines = reportLines(verdict);
await mkdir(values.out, { recursive: true });
await writeFile(join(values.out, 'throughput.svg'), throughputSvg(verdict));
await writeFile(join(values.out, 'report.md'), `${lines.join('\n')}\n`);
console.log(`\n${lines.join('\n')}\nThe report and its drawing are in ${values.out}.`);
process.exit(verdict.problems.length === 0 ? 0 : 1);
