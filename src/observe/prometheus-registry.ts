import type { Registry } from 'prom-client';
import { InvalidInput } from '../support/fault.ts';

export interface PrometheusOptions {
  readonly registry: Registry;
}

export function registryOf(what: string, { registry }: PrometheusOptions): Registry {
  if (typeof registry?.registerMetric === 'function') return registry;
  throw new InvalidInput(`${what}: registry is missing; pass a Registry of prom-client.`);
}
