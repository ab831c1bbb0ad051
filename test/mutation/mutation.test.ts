import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startPostgres } from '../services/postgres.ts';
import { isExcluded, isFullRun, sample } from '../services/tier.ts';
import {
  allMutants,
  allowedSurvivors,
  describeVerdict,
  examine,
  falseKills,
  staleSurvivors,
} from './examine.ts';
import { deletedGuards } from './found-by.ts';
import { CONTRACTS, type ContractName, MUTATED_STORES, type Mutant, mutantsOf } from './mutants.ts';
import { readKillers } from './verdict.ts';

/** How many mutants of each contract `npm test` judges. */
const SAMPLE: Readonly<Record<ContractName, number>> = { lease: 1, execution: 1, access: 1 };

test('a guard has a mutant without it and one for each of its bounds', () => {
  const at = '     and at > :now -- guard: at`;';
  const x = '  or x -- guard: x';
  assert.deepEqual(mutantsOf(['   where key = :key', at, x].join('\n')), [
    { id: 'at', line: 2, before: at, text: 'and (true or (at > :now))`;' },
    { id: 'at<1', line: 2, before: at, text: 'and (at >= :now)`;' },
    { id: 'x', line: 3, before: x, text: 'or (false and (x))' },
  ]);
});

test('every excused survivor exists', () => {
  assert.deepEqual(staleSurvivors(), []);
});

test('each guard has a contract case that finds its deletion, or an excuse', () => {
  const allowed = allowedSurvivors();
  const unknown = deletedGuards().filter(
    ({ id, foundBy }) => foundBy.layer === 'none' && allowed[id] === undefined,
  );
  assert.deepEqual(unknown, []);
});

test('a guard that is dropped or moved makes a contract case fail', async (t) => {
  const stores = MUTATED_STORES.filter((store) => !isExcluded(store));
  const all = allMutants(stores);
  const mutants = CONTRACTS.flatMap((contract) => sampleOf(all, contract));
  const needsPostgres = mutants.some(({ store }) => store === 'postgres');
  const shared = process.env['HOLDFAST_TEST_POSTGRES_URL'];
  const own = needsPostgres && shared === undefined ? await startPostgres() : undefined;
  t.after(() => own?.stop());
  const postgresUrl = own?.url ?? shared;
  const examined = await examine(mutants, readKillers(), {
    ...(postgresUrl === undefined ? {} : { postgresUrl }),
    onExamined: (each) => t.diagnostic(describeVerdict(each)),
  });
  assert.deepEqual(
    examined.filter(({ problem }) => problem !== undefined).map(describeVerdict),
    [],
    'mutants that no case noticed; see test/mutation',
  );
  assert.deepEqual(await falseKills(examined, postgresUrl), []);
});

function sampleOf(all: readonly Mutant[], contract: ContractName): readonly Mutant[] {
  const ofContract = all.filter((each) => each.contract === contract);
  if (isFullRun()) return ofContract;
  // A mutant that is known to survive runs all cases, which takes too long for a sample.
  const allowed = allowedSurvivors();
  const killed = ofContract.filter(({ id }) => allowed[id] === undefined);
  return sample(`mutants, ${contract}`, killed, SAMPLE[contract]);
}
