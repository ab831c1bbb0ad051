import { backendOf } from './backend.ts';
import { pushedKind } from './pushed.ts';
import { registerTransportContract } from './register.ts';

registerTransportContract(backendOf(pushedKind('push', { lacks: ['asking'] })), { count: 30 });
