// A transport that misbehaves on request, in front of a real one. It loses messages or replies,
// delivers some twice, and holds some back until others have overtaken them.

import type { Transport, TransportRequest } from '../../src/protocol/messages/envelope.ts';
import type { WorkKind } from '../../src/protocol/messages/work-messages.ts';
import { OutcomeUnknown } from '../../src/support/fault.ts';

/**
 * How a transport misbehaves.
 *
 * - `lost`: the message never arrives.
 * - `reply-lost`: it is handled, and the response is lost.
 * - `doubled`: it is handled twice.
 * - `held`: it is held back until `release`.
 */
export type TransportFault = 'lost' | 'reply-lost' | 'doubled' | 'held';

/**
 * A transport that misbehaves on request.
 *
 * @example
 * import { grpcTransport } from 'holdfast/worker/grpc';
 *
 * const faulty = faultyTransport(await grpcTransport({ address: '127.0.0.1:7435' }));
 * faulty.next('claimExecutions', 'lost');
 */
export interface FaultyTransport extends Transport {
  /** Makes the next message of this kind misbehave. Several faults apply in order. */
  next(kind: WorkKind, fault: TransportFault): void;
  /** Lets held messages go, the newest first. */
  release(): void;
  /** The number of faults that have happened. */
  readonly faults: number;
}

/**
 * Wraps a transport so that messages misbehave. `plan` chooses the fault of the nth message, unless
 * `next` did.
 *
 * @example
 * import { grpcTransport } from 'holdfast/worker/grpc';
 *
 * const inner = await grpcTransport({ address: '127.0.0.1:7435' });
 * const faulty = faultyTransport(inner, (nth) => (nth % 10 === 0 ? 'reply-lost' : undefined));
 */
export function faultyTransport(
  transport: Transport,
  plan: (nth: number, kind: WorkKind) => TransportFault | undefined = () => undefined,
): FaultyTransport {
  const planned = new Map<WorkKind, TransportFault[]>();
  const held: (() => void)[] = [];
  let nth = 0;
  let faults = 0;
  const { onWakeup } = transport;
  const send = async <Result>(message: TransportRequest): Promise<Result> => {
    nth += 1;
    const fault = planned.get(message.kind)?.shift() ?? plan(nth, message.kind);
    if (fault === undefined) return transport.request<Result>(message);
    faults += 1;
    if (fault === 'lost')
      throw new OutcomeUnknown(`The message ${message.kind} was lost on the way.`);
    if (fault === 'held') await new Promise<void>((resolve) => held.unshift(resolve));
    const result = await transport.request<Result>(message);
    if (fault === 'doubled') return transport.request<Result>(message);
    if (fault === 'reply-lost') throw new OutcomeUnknown(`The reply to ${message.kind} was lost.`);
    return result;
  };
  return {
    name: `${transport.name}, misbehaving`,
    doubles: true,
    request: send,
    ...(onWakeup === undefined
      ? {}
      : { onWakeup: (listener) => onWakeup.call(transport, listener) }),
    close: () => transport.close(),
    next(kind, fault) {
      planned.set(kind, [...(planned.get(kind) ?? []), fault]);
    },
    release() {
      for (const each of held.splice(0)) each();
    },
    get faults() {
      return faults;
    },
  };
}
