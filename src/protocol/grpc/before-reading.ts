// Authenticates a single message before gRPC reads it, and within the time of a request. By
// default, gRPC would read the whole message first, from any sender and however slowly. For a
// stream, `WorkerStream` does this.
//
// This is a file of its own because its types need an optional peer, and the server's types must
// resolve without it.

import type { Metadata, ServerInterceptingCallInterface, ServerInterceptor } from '@grpc/grpc-js';
import type { Timers } from '../../support/timer.ts';
import type { ReplyEnvelope } from '../messages/envelope.ts';
import type { Caller } from '../rest/route.ts';

export interface BeforeReading {
  readonly driver: Pick<
    typeof import('@grpc/grpc-js'),
    'Metadata' | 'ServerInterceptingCall' | 'status'
  >;
  /** Throws if the caller has no access. */
  readonly admit: (call: IncomingCall) => Promise<Caller>;
  readonly refuse: (refusal: unknown) => Promise<ReplyEnvelope>;
  readonly cut: (peer: string) => void;
  readonly requestMs: number;
  readonly timers: Timers;
}

interface IncomingCall {
  readonly metadata: Metadata;
  getPeer(): string;
}

/** The admitted caller of each call, by its metadata. */
export type Admitted = WeakMap<Metadata, Caller>;

export function beforeReading(parts: BeforeReading, admitted: Admitted): ServerInterceptor {
  const { driver, admit, cut, requestMs, timers } = parts;
  return ({ requestStream }, call) => {
    if (requestStream) return new driver.ServerInterceptingCall(call);
    const arrived = timers.after(requestMs, () => cut(call.getPeer()));
    const onReceiveMetadata = (metadata: Metadata, pass: (metadata: Metadata) => void): void => {
      admit({ metadata, getPeer: () => call.getPeer() }).then(
        (caller) => {
          admitted.set(metadata, caller);
          pass(metadata);
        },
        (refusal: unknown) => {
          arrived();
          void sendRefusal(parts, call, refusal);
        },
      );
    };
    return new driver.ServerInterceptingCall(call, {
      start: (next) =>
        next({
          onReceiveMetadata,
          onReceiveHalfClose: (pass) => {
            arrived();
            pass();
          },
          onCancel: arrived,
        }),
    });
  };
}

async function sendRefusal(
  { driver, refuse }: BeforeReading,
  call: ServerInterceptingCallInterface,
  refusal: unknown,
): Promise<void> {
  const reply = await refuse(refusal);
  call.sendMetadata(new driver.Metadata());
  call.sendMessage(reply, () => call.sendStatus({ code: driver.status.OK, details: 'OK' }));
}
