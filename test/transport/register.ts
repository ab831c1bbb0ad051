import { test } from 'node:test';
import {
  runTransportCase,
  type TransportBackend,
  type TransportCase,
  transportContract,
  transportSkipReason,
} from '../../src/testing/index.ts';

/** Each case that the transport can run, on a coordinator of its own. */
export function registerTransportContract(
  backend: TransportBackend,
  cases: readonly TransportCase[] = transportContract,
): void {
  for (const each of cases) {
    if (transportSkipReason(each, backend) !== undefined) continue;
    test(`${backend.name}: ${each.upholds}: ${each.name}`, () => runTransportCase(each, backend));
  }
}
