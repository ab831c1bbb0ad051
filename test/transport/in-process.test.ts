import { backendOf } from './backend.ts';
import { registerTransportContract } from './register.ts';

registerTransportContract(
  backendOf({
    name: 'in-process',
    offers: [],
    carrier: (server, key) => server.carrier({ key }),
  }),
  { count: 50 },
);
