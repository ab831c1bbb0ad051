// Circuits of steps that call the same service.

import assert from 'node:assert/strict';
import { StepError } from '../../../src/engine/failures.ts';
import { pipeline } from '../../../src/engine/pipeline.ts';
import type { Behaviour } from '../stage.ts';

const NOW = { initialMs: 1, maxMs: 1 } as const;

export const CIRCUITS: readonly Behaviour[] = [
  {
    name: 'X-115: an open circuit holds the attempts of other executions back, and counts none',
    async run(stage) {
      let calls = 0;
      const paying = pipeline({
        name: 'paying',
        run: (ctx, circuit: { readonly name: string; readonly openMs: number }) =>
          ctx.step(
            'pay',
            ({ attempt }) => {
              calls += 1;
              if (calls <= 2) throw new Error('the bank is down');
              return `paid in attempt ${attempt}`;
            },
            { circuit: { ...circuit, failuresMax: 2 }, retry: { ...NOW, attempts: 3 } },
          ),
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [paying]);
      const bank = { name: 'bank', openMs: 60_000 };
      const first = await holdfast.submit(paying, bank);
      const isParked = ({ status }: { readonly status: string }): boolean => status === 'waiting';
      await stage.until(holdfast, first.id, isParked);
      const second = await holdfast.submit(paying, bank);
      await stage.until(holdfast, second.id, isParked);
      assert.equal(calls, 2);
      const explained = await holdfast.explain(second.id);
      assert.equal(explained?.code, 'waiting-for-circuit');
      assert.match(
        explained.sentence,
        /^Step "pay" waits\. Circuit "bank" is open: 2 attempts in a row failed, .*the bank is down/,
      );
      assert.ok(explained.until !== undefined);
      // Another circuit is closed, and its service is back.
      const other = await holdfast.submit(paying, { name: 'other bank', openMs: 1 });
      assert.equal(await other.result(), 'paid in attempt 1');
    },
  },
  {
    name: 'X-115: when the service is back, a probe succeeds and the step continues with its attempts',
    async run(stage) {
      let calls = 0;
      const paying = pipeline({
        name: 'paying',
        run: (ctx) =>
          ctx.step(
            'pay',
            ({ attempt }) => {
              calls += 1;
              if (calls <= 3) throw new StepError('busy', { category: 'unknown', code: 'busy' });
              return `paid in attempt ${attempt}`;
            },
            {
              // Long enough for a retry to find the circuit open, also on a busy machine.
              circuit: { name: 'bank', failuresMax: 2, openMs: 400 },
              retry: { ...NOW, attempts: 4 },
            },
          ),
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [paying]);
      const handle = await holdfast.submit(paying, undefined);
      assert.equal(await handle.result(), 'paid in attempt 4');
      const history = await holdfast.history(handle.id);
      const failures = history.flatMap(({ kind, body = '{}' }) =>
        kind === 'step-failed' ? [JSON.parse(body).failure.code] : [],
      );
      assert.equal(failures.filter((code) => code === 'busy').length, 3);
      assert.ok(failures.filter((code) => code === 'circuit-open').length >= 2);
    },
  },
];
