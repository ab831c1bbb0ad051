import { transportContract } from '../../contract/index.ts';
import { backendOf } from './backend.ts';
import { pushedKind } from './pushed.ts';
import { registerTransportContract } from './register.ts';

// Without a way back there are calls and their answers, and what pipelines can rely on.
registerTransportContract(
  backendOf(
    pushedKind('push, answers only', { withoutConnection: true, lacks: ['asking', 'references'] }),
  ),
  {
    cases: transportContract.filter(
      ({ needs, upholds }) => needs === 'calls' || upholds.includes('M-12'),
    ),
    count: 15,
  },
);
