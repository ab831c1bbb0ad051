// How workers reach this coordinator otherwise than over HTTP.

import { type GrpcServer, serveGrpc } from '../protocol/grpc/serve-grpc.ts';
import type { Carrier } from '../protocol/messages/carrier.ts';
import type { Caller, Coordinator } from '../protocol/rest/route.ts';
import { type Dispatch, dispatchOf } from '../protocol/work/dispatch.ts';
import { inProcessCarrier } from '../protocol/work/in-process.ts';
import { boundedText, readOptions } from '../support/options.ts';
import type { Gate, Knock } from './gate.ts';
import { DEFAULT_HTTP_LIMITS, type ServerLog, type ServerOptions } from './server-options.ts';

export interface CarrierOptions {
  /** With role `work`. Nothing where authentication is off. */
  readonly key?: string;
  /** For keys of all projects, and where authentication is off. */
  readonly project?: string;
}

export interface CarrierParts {
  readonly coordinator: Coordinator;
  readonly gate: Gate;
  readonly log: ServerLog;
  readonly stopping: AbortSignal;
}

const WORD_BYTES_MAX = 256;

export function carrierOf(parts: CarrierParts, given: CarrierOptions = {}): Carrier {
  const { key, project } = readOptions('carrier', given, ['key', 'project']);
  if (key !== undefined) boundedText('carrier: key', key, WORD_BYTES_MAX);
  if (project !== undefined) boundedText('carrier: project', project, WORD_BYTES_MAX);
  const knock = { authorization: key === undefined ? undefined : `Bearer ${key}`, project };
  const { coordinator, stopping } = parts;
  const admit = (): Promise<Caller> => admitWorker(parts.gate, knock);
  return inProcessCarrier({ coordinator, dispatch: dispatchFor(parts), admit, stopping });
}

export function dispatchFor({ coordinator, log }: CarrierParts): Dispatch {
  return dispatchOf({ coordinator, onFault: (code, error) => log.fault(code, error) });
}

/** As the routes of workers ask for. */
export function admitWorker(gate: Gate, knock: Knock): Promise<Caller> {
  return gate.admit({ allows: ['work'] }, knock);
}

const LOOPBACK = '127.0.0.1';

/** Undefined where it was not asked for. */
export async function openGrpc(
  parts: CarrierParts,
  { grpc, tls, limits }: ServerOptions,
): Promise<GrpcServer | undefined> {
  if (grpc === undefined) return undefined;
  const { coordinator, gate, stopping } = parts;
  const { host = LOOPBACK, port } = grpc;
  return serveGrpc({
    ...{ coordinator, host, port, stopping },
    bytesMax: limits?.bodyBytesMax ?? DEFAULT_HTTP_LIMITS.bodyBytesMax,
    dispatch: dispatchFor(parts),
    admit: (knock) => admitWorker(gate, knock),
    ...(tls === undefined ? {} : { tls }),
  });
}
