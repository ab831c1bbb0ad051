import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asPipeline, pipeline, pipelineOf } from './pipeline.ts';

const run = (): number => 1;

test('options are read once, and later changes have no effect', () => {
  const options = { name: 'p', run, checkpoint: { every: 'steps', steps: 2 } as const };
  const made = pipeline(options);
  Object.assign(options.checkpoint, { steps: -1 });
  Object.assign(options, { name: 'other' });
  assert.deepEqual([made.name, made.checkpoint], ['p', { every: 'steps', steps: 2 }]);
});

test('the options may be an instance of a class, with its methods', () => {
  class Billing {
    readonly name = 'billing';
    run(): string {
      return 'billed';
    }
  }
  const made = pipeline(new Billing());
  assert.equal(made.run({} as never, undefined), 'billed');
});

test('a pipeline of another copy of this package is accepted after a check', () => {
  const foreign = Object.freeze({ ...pipeline({ name: 'foreign', run }) });
  assert.equal(asPipeline(foreign)?.name, 'foreign');
  assert.equal(pipelineOf('submit', foreign).name, 'foreign');
});

test('an object that only looks like a pipeline is refused', () => {
  const checkpoint = { every: 'step' } as const;
  const values: readonly unknown[] = [
    { name: 'raw', run },
    Object.freeze({ name: 'raw', run }),
    { ...pipeline({ name: 'thawed', run }) },
    Object.freeze({ name: 5, run, checkpoint }),
    Object.freeze({ name: 'p', run: 5, checkpoint }),
    Object.freeze({ name: 'p', run, checkpoint: 5 }),
    Object.freeze({ name: 'p', run, checkpoint, retry: { attempts: 0 } }),
    Object.freeze({ name: 'p', run, checkpoint, input: {} }),
  ];
  for (const value of values) {
    assert.equal(asPipeline(value), undefined);
    assert.throws(() => pipelineOf('submit', value), /^InvalidInput: submit: pipeline must be/);
  }
});
