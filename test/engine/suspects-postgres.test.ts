import { after, test } from 'node:test';
import { runExecutionCase } from '../../contract/index.ts';
import { executionBackend } from '../contract/execution-backend.ts';
import { postgresBackend } from '../contract/postgres-backend.ts';
import { postgresForTests } from '../services/postgres.ts';
import { SUSPECT_SCENARIOS } from './suspects/scenario.ts';

const database = await postgresForTests();
const backend = postgresBackend(database.url);

after(async () => {
  await backend.end();
  await database.release();
});

for (const scenario of SUSPECT_SCENARIOS) {
  test(`${scenario.upholds}: ${scenario.name}`, () =>
    runExecutionCase(scenario, executionBackend(backend)));
}
