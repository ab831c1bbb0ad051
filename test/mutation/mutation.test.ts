import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { test } from 'node:test';
import { isExcluded, isLongRun } from '../services/excluded.ts';
import { startPostgres } from '../services/postgres.ts';
import {
  allMutants,
  allowedSurvivors,
  describeVerdict,
  examine,
  falseKills,
  staleSurvivors,
} from './examine.ts';
import { CONTRACTS, type ContractName, MUTATED_STORES, type Mutant, mutantsOf } from './mutants.ts';
import { readKillers } from './verdict.ts';

/** How many mutants a run that is not long judges, so that all contracts are asked. */
const SAMPLE = { lease: 8, execution: 4, access: 1 };

test('a guard has a mutant without it and one for each of its bounds', () => {
  const at = '     and at > :now -- guard: at`;';
  const x = '  or x -- guard: x';
  assert.deepEqual(mutantsOf(['   where key = :key', at, x].join('\n')), [
    { id: 'at', line: 2, before: at, text: 'and (true or (at > :now))`;' },
    { id: 'at<1', line: 2, before: at, text: 'and (at >= :now)`;' },
    { id: 'x', line: 3, before: x, text: 'or (false and (x))' },
  ]);
});

test('no survivor is excused that does not exist', () => {
  assert.deepEqual(staleSurvivors(), []);
});

test('a guard that is dropped or moved makes a case of the contract fail', async (t) => {
  const stores = MUTATED_STORES.filter((store) => !isExcluded(store));
  const all = allMutants(stores);
  const seed = randomInt(2 ** 31);
  const mutants = isLongRun() ? all : CONTRACTS.flatMap((contract) => sample(all, contract, seed));
  t.diagnostic(`${mutants.length} of ${all.length} mutants, sampled from seed ${seed}`);
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

/** The same seed picks the same mutants. Those that are known to survive take too long here. */
function sample(all: readonly Mutant[], contract: ContractName, seed: number): readonly Mutant[] {
  const allowed = allowedSurvivors();
  const rest = all.filter((each) => each.contract === contract && allowed[each.id] === undefined);
  const picked: Mutant[] = [];
  for (let state = seed; picked.length < SAMPLE[contract] && rest.length > 0; ) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    picked.push(...rest.splice(state % rest.length, 1));
  }
  return picked;
}
