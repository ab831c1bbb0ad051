// holdfast/testing exports everything that the README lists for it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as testing from '../../contract/index.ts';
import { readProjectFile } from './project-files.ts';

/** In the words of the README. */
const EXPORTS: Readonly<Record<string, readonly string[]>> = {
  'time travel for pipelines': ['openTestHoldfast'],
  'the contract suites as data': ['leaseContract', 'executionContract', 'accessContract'],
  'a manual clock': ['ManualClock'],
  'a store that misbehaves on request': ['faultyStore'],
  'the worker protocol as data': ['transportContract', 'runTransportCase'],
  'a transport that misbehaves on request': ['faultyTransport'],
  'a deterministic simulator': ['simulate', 'shrinkPlan', 'planSimulation'],
  'a fake push endpoint': ['FakeEndpoint', 'transportPipelines'],
};

function promised(file: string, line: RegExp): readonly string[] {
  const words = line.exec(readProjectFile(file).replaceAll('\n  ', ' '))?.[1];
  assert.ok(words !== undefined, `${file} says what is in holdfast/testing`);
  return words.split(',').map((each) => each.trim().toLowerCase().replace(/^and /, ''));
}

test('holdfast/testing exports everything that the README lists for it', () => {
  const listed = promised('README.md', /`holdfast\/testing` \| ([^|]+)\|/);
  for (const words of listed) {
    const names = EXPORTS[words];
    assert.ok(names !== undefined, `"${words}": say here what exports it`);
    for (const name of names) assert.ok(name in testing, `${words}: ${name} is not exported`);
  }
});
