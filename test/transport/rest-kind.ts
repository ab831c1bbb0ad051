import { systemTimers } from '../../src/support/timer.ts';
import { httpCarrier } from '../../src/worker/http-carrier.ts';
import type { Kind } from './backend.ts';

export const restKind: Kind = {
  name: 'REST',
  offers: ['limit'],
  options: async () => ({ limits: { bodyBytesMax: 4 * 1024 * 1024 } }),
  carrier: ({ url }, key) => httpCarrier({ url, key, timers: systemTimers }),
};
