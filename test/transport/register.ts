import { test } from 'node:test';
import {
  runTransportCase,
  type TransportBackend,
  type TransportCase,
  transportContract,
  transportSkipReason,
} from '../../src/testing/index.ts';

/** Every case on a coordinator of its own; what the carrier cannot have is skipped by name. */
export function registerTransportContract(
  backend: TransportBackend,
  cases: readonly TransportCase[] = transportContract,
): void {
  for (const each of cases) {
    const skip = transportSkipReason(each, backend) ?? false;
    test(`${backend.name}: ${each.upholds}: ${each.name}`, { skip }, () =>
      runTransportCase(each, backend),
    );
  }
}
