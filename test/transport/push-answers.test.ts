import { transportContract } from '../../contract/index.ts';
import { backendOf } from './backend.ts';
import { pushedKind } from './pushed.ts';
import { registerTransportContract } from './register.ts';

// Without a coordinator connection there are only calls and their answers. The promises to
// pipelines still hold.
registerTransportContract(
  backendOf(
    pushedKind('push, answers only', {
      withoutConnection: true,
      lacks: ['asking', 'references', 'heartbeats', 'leases'],
    }),
  ),
  {
    cases: transportContract.filter(
      ({ needs, upholds }) => needs === 'calls' || upholds.includes('M-12'),
    ),
    count: 15,
  },
);
