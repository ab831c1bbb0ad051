import { systemTimers } from '../../src/support/timer.ts';
import { httpCarrier } from '../../src/worker/http-carrier.ts';
import { backendOf } from './backend.ts';
import { registerTransportContract } from './register.ts';

registerTransportContract(
  backendOf({
    name: 'REST',
    offers: ['limit'],
    options: async () => ({ limits: { bodyBytesMax: 4 * 1024 * 1024 } }),
    carrier: ({ url }, key) => httpCarrier({ url, key, timers: systemTimers }),
  }),
);
