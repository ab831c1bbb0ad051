// A measured process: node bench/executions/subject.ts '{"measure":"throughput","location":…,"order":…}'
// It prints the result as one line of JSON. To profile it, run it with --cpu-prof.

import type { StoreLocation } from './store-location.ts';
import { claimCost } from './subject/claim-cost.ts';
import { fanOut } from './subject/fan-out.ts';
import { heartbeatCost, heartbeatWrites } from './subject/heartbeats.ts';
import { idle } from './subject/idle.ts';
import { inFlight } from './subject/in-flight.ts';
import { oneAtATime } from './subject/one-at-a-time.ts';
import { throughput } from './subject/throughput.ts';
import { written } from './subject/written.ts';

export interface Measurements {
  readonly claimCost: typeof claimCost;
  readonly fanOut: typeof fanOut;
  readonly heartbeatCost: typeof heartbeatCost;
  readonly heartbeatWrites: typeof heartbeatWrites;
  readonly idle: typeof idle;
  readonly inFlight: typeof inFlight;
  readonly oneAtATime: typeof oneAtATime;
  readonly throughput: typeof throughput;
  readonly written: typeof written;
}

const MEASUREMENTS: Measurements = {
  claimCost,
  fanOut,
  heartbeatCost,
  heartbeatWrites,
  idle,
  inFlight,
  oneAtATime,
  throughput,
  written,
};

interface Request {
  readonly measure: keyof Measurements;
  readonly location: StoreLocation;
  readonly order: never;
  readonly limitMs?: number;
}

/** The process exits by itself, in case its parent has died. */
const LIMIT_MS = 600_000;

const { measure, location, order, limitMs } = JSON.parse(process.argv[2] ?? '{}') as Request;
setTimeout(() => process.exit(3), limitMs ?? LIMIT_MS).unref();
console.log(JSON.stringify(await MEASUREMENTS[measure](location, order)));
