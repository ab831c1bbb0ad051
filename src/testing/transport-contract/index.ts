// What every carrier of the worker protocol keeps. Register every case with your test runner:
//
//   for (const each of transportContract)
//     test(`${each.upholds}: ${each.name}`, () => runTransportCase(each, backend));

import { callCases } from './calls.ts';
import type { TransportCase } from './contract-case.ts';

export { transportPipelines } from './workers.ts';

import { doubledCases } from './doubled.ts';
import { envelopeCases } from './envelopes.ts';
import { identityCases } from './identity.ts';
import { inFlightCases } from './in-flight.ts';
import { lateCases } from './late.ts';
import { lostCases } from './lost.ts';
import { releaseCases } from './releases.ts';
import { signedCases } from './signed.ts';
import { workerCases } from './workers.ts';

export {
  CallDesk,
  type DeskKeys,
  type Employed,
  type ForgedAnswer,
  type OpenCall,
} from './call-desk.ts';

export {
  type Forgery,
  type OpenTransportHarness,
  runTransportCase,
  type Speaker,
  type TransportBackend,
  type TransportCase,
  type TransportHabit,
  type TransportHarness,
  type TransportNeed,
  type TransportOffer,
  transportSkipReason,
} from './contract-case.ts';

export const transportContract: readonly TransportCase[] = [
  ...doubledCases,
  ...lostCases,
  ...lateCases,
  ...identityCases,
  ...envelopeCases,
  ...inFlightCases,
  ...releaseCases,
  ...signedCases,
  ...callCases,
  ...workerCases,
];
