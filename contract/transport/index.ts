// The rules of every transport of the worker protocol. Register every case with your test runner:
//
//   for (const each of transportContract)
//     test(`${each.upholds}: ${each.name}`, () => runTransportCase(each, backend));

import { callCases } from './calls.ts';
import type { TransportCase } from './contract-case.ts';

import { doubledCases } from './doubled.ts';
import { envelopeCases } from './envelopes.ts';
import { identityCases } from './identity.ts';
import { inFlightCases } from './in-flight.ts';
import { lateCases } from './late.ts';
import { lostCases } from './lost.ts';
import { releaseCases } from './releases.ts';
import { signedCases } from './signed.ts';
import { workerCases } from './workers.ts';

/** The contract of transports: all cases. */
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
