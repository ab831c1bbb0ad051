import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PORT_METHODS_MAX, portProblems } from './ports.ts';
import { projectFiles } from './project-files.ts';

test('a port has at most a dozen methods', () => {
  assert.deepEqual(portProblems(projectFiles('src/lease/port.ts', 'src/store/contract/*.ts')), []);
});

test('the rule bites', () => {
  const port = (count: number, method: string) => [
    {
      path: 'src/lease/port.ts',
      text: `export interface LeaseStore {\n${method.repeat(count)}}\n`,
    },
  ];
  const methods = ['  renew(lease: Lease): Promise<Renewed>;\n', '  readonly renew: () => void;\n'];
  for (const method of methods) {
    assert.equal(portProblems(port(PORT_METHODS_MAX, method)).length, 0);
    assert.equal(portProblems(port(PORT_METHODS_MAX + 1, method)).length, 1);
  }
  assert.equal(portProblems(port(20, '  // renew(lease): a comment\n')).length, 0);
});
