import { backendOf } from './backend.ts';
import { registerTransportContract } from './register.ts';
import { restKind } from './rest-kind.ts';

registerTransportContract(backendOf(restKind), { count: 40 });
