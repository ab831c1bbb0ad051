// The memory of a process with many executions in flight, and with one that has many children.

import { median } from '../measure.ts';
import { type BenchCase, DURABLE, measureIn, reporterOf } from './bench-case.ts';

const IN_FLIGHT = 1_000;
const LIMIT_MB = 150;
const CHILDREN = 10_000;

const MB = 1_000_000;

const NAME = 'memory · 1,000 in flight';
const FAN_OUT = 'fan-out · 10,000 children';

export const MEMORY_CASES: readonly BenchCase[] = [
  {
    name: NAME,
    stores: DURABLE,
    async *measure(bench) {
      const order = { executions: IN_FLIGHT };
      const found = await measureIn(bench, 'inFlight', order);
      const settings = {
        ...order,
        limitMb: LIMIT_MB,
        how: 'resident memory while all wait inside a step',
      };
      const memory = reporterOf(bench, NAME, settings);
      yield memory.value('RSS', found.bytes / MB, 'MB');
      yield memory.value('of limit', found.bytes / MB / LIMIT_MB, '×');
      yield memory.value('idle before', found.idleBytes / MB, 'MB');
    },
  },
  {
    name: FAN_OUT,
    stores: DURABLE,
    async *measure(bench) {
      const rounds = bench.plan.quick ? 1 : 3;
      const order = { children: CHILDREN, inFlight: IN_FLIGHT };
      const found = [];
      for (let round = 0; round < rounds; round += 1) {
        found.push(await measureIn(bench, 'fanOut', order));
      }
      const fanOut = reporterOf(bench, FAN_OUT, { ...order, rounds, stepsOfAChild: 1 });
      const seconds = median(found.map((each) => each.seconds));
      yield fanOut.value('submit to fan-in', seconds, 's');
      yield fanOut.value('children', CHILDREN / seconds, '/s');
      yield fanOut.value('peak RSS', median(found.map((each) => each.peakBytes)) / MB, 'MB');
    },
  },
];
