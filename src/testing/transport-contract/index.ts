// What every carrier of the worker protocol keeps. Register every case with your test runner:
//
//   for (const each of transportContract)
//     test(`${each.upholds}: ${each.name}`, () => runTransportCase(each, backend));

import type { TransportCase } from './contract-case.ts';
import { doubledCases } from './doubled.ts';
import { envelopeCases } from './envelopes.ts';
import { identityCases } from './identity.ts';
import { inFlightCases } from './in-flight.ts';
import { lateCases } from './late.ts';
import { lostCases } from './lost.ts';
import { signedCases } from './signed.ts';
import { workerCases } from './workers.ts';

export {
  type Forgery,
  type OpenTransportHarness,
  runTransportCase,
  type Speaker,
  type TransportBackend,
  type TransportCase,
  type TransportHarness,
  type TransportNeed,
  transportSkipReason,
} from './contract-case.ts';

export const transportContract: readonly TransportCase[] = [
  ...doubledCases,
  ...lostCases,
  ...lateCases,
  ...identityCases,
  ...envelopeCases,
  ...inFlightCases,
  ...signedCases,
  ...workerCases,
];
