import { test } from 'node:test';
import {
  runTransportCase,
  type TransportBackend,
  transportContract,
  transportSkipReason,
} from '../../src/testing/index.ts';

/** Every case on a coordinator of its own; what the carrier cannot have is skipped by name. */
export function registerTransportContract(backend: TransportBackend): void {
  for (const each of transportContract) {
    const skip = transportSkipReason(each, backend) ?? false;
    test(`${backend.name}: ${each.upholds}: ${each.name}`, { skip }, () =>
      runTransportCase(each, backend),
    );
  }
}
