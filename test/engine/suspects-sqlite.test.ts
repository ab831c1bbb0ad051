import { test } from 'node:test';
import { runExecutionCase } from '../../contract/index.ts';
import { executionBackend } from '../contract/execution-backend.ts';
import { sqliteBackend } from '../contract/sqlite-backend.ts';
import { SUSPECT_SCENARIOS } from './suspects/scenario.ts';

for (const scenario of SUSPECT_SCENARIOS) {
  test(`${scenario.upholds}: ${scenario.name}`, () =>
    runExecutionCase(scenario, executionBackend(sqliteBackend)));
}
