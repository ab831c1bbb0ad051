import { backendOf } from './backend.ts';
import { registerTransportContract } from './register.ts';
import { streamKind } from './stream-kind.ts';

registerTransportContract(backendOf(streamKind), { count: 40 });
