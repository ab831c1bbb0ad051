// npm run mutation [-- --store=sqlite|postgres|redis] [--only=<part of an id>] [--at-once=2] [--json] [--update]

import { parseArgs } from 'node:util';
import { startPostgres } from '../services/postgres.ts';
import { isExcluded } from '../services/tier.ts';
import {
  allMutants,
  allowedSurvivors,
  describeVerdict,
  type Examined,
  examine,
  falseKills,
  staleSurvivors,
} from './examine.ts';
import { listLocks } from './locks.ts';
import { MUTATED_STORES } from './mutants.ts';
import { readKillers, writeKillers } from './verdict.ts';

const { values } = parseArgs({
  options: {
    store: { type: 'string' },
    only: { type: 'string', default: '' },
    'at-once': { type: 'string', default: '2' },
    json: { type: 'boolean', default: false },
    /** Remembers which case killed which mutant. */
    update: { type: 'boolean', default: false },
  },
});

const stores = MUTATED_STORES.filter(
  (store) => (values.store === undefined || values.store === store) && !isExcluded(store),
);
const mutants = allMutants(stores).filter(({ id }) => id.includes(values.only));
const needsPostgres = mutants.some(({ store }) => store === 'postgres');
const postgres = needsPostgres ? await startPostgres() : undefined;
const killers = readKillers();
const print = (line: string): void => {
  if (!values.json) console.log(line);
};

try {
  const examined = await examine(mutants, killers, {
    ...(postgres === undefined ? {} : { postgresUrl: postgres.url }),
    atOnce: Number(values['at-once']),
    onExamined: (each) => print(describeVerdict(each)),
  });
  report(examined, await falseKills(examined, postgres?.url));
} finally {
  await postgres?.stop();
}

function report(examined: readonly Examined[], inVain: readonly string[]): void {
  if (values.update && inVain.length === 0) {
    const found = examined.flatMap(({ mutant, verdict }) =>
      verdict.kind === 'killed' ? [[mutant.id, verdict.by] as const] : [],
    );
    writeKillers({ ...killers, ...Object.fromEntries(found) });
  }
  const problems = [
    ...inVain,
    ...examined.flatMap(({ mutant, problem }) =>
      problem === undefined ? [] : [`${mutant.id} ${problem}`],
    ),
    ...staleSurvivors().map((id) => `${id} is in survivors.json and does not exist`),
  ];
  if (values.json) console.log(JSON.stringify({ examined, problems }, null, 2));
  for (const [id, reason] of Object.entries(allowedSurvivors())) print(`- ${id}: ${reason}`);
  for (const store of stores) for (const lock of listLocks(store)) print(`- ${lock}`);
  print(`${examined.length} mutants, ${problems.length} problems`);
  for (const problem of problems) print(`  ${problem}`);
  process.exitCode = problems.length === 0 && examined.length > 0 ? 0 : 1;
}
