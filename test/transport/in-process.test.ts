import { backendOf } from './backend.ts';
import { registerTransportContract } from './register.ts';

registerTransportContract(
  backendOf({
    name: 'in-process',
    offers: [],
    transport: (server, key) => server.transport({ key }),
  }),
  { count: 50 },
);
