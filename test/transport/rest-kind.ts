import { systemTimers } from '../../src/support/timer.ts';
import { httpTransport } from '../../src/worker/http-transport.ts';
import type { Kind } from './backend.ts';

export const restKind: Kind = {
  name: 'REST',
  offers: ['limit'],
  options: async () => ({ limits: { bodyBytesMax: 4 * 1024 * 1024 } }),
  transport: ({ url }, key) => httpTransport({ url, key, timers: systemTimers }),
};
