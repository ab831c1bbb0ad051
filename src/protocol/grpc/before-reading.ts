// A message by itself is read when its sender has come in, and within the time that a request has: gRPC would read
// all of it first, whoever sends it and however slowly. In a stream its conversation sees to that.

import type { Metadata, ServerInterceptingCallInterface, ServerInterceptor } from '@grpc/grpc-js';
import type { Timers } from '../../support/timer.ts';
import type { ReplyEnvelope } from '../messages/envelope.ts';
import type { Caller } from '../rest/route.ts';

export interface BeforeReading {
  readonly driver: Pick<
    typeof import('@grpc/grpc-js'),
    'Metadata' | 'ServerInterceptingCall' | 'status'
  >;
  /** Throws for who may not. */
  readonly admit: (call: Asking) => Promise<Caller>;
  readonly refuse: (refusal: unknown) => Promise<ReplyEnvelope>;
  readonly cut: (peer: string) => void;
  readonly requestMs: number;
  readonly timers: Timers;
}

interface Asking {
  readonly metadata: Metadata;
  getPeer(): string;
}

/** Who came in with which call, by its metadata. */
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
          void answerUnread(parts, call, refusal);
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

async function answerUnread(
  { driver, refuse }: BeforeReading,
  call: ServerInterceptingCallInterface,
  refusal: unknown,
): Promise<void> {
  const reply = await refuse(refusal);
  call.sendMetadata(new driver.Metadata());
  call.sendMessage(reply, () => call.sendStatus({ code: driver.status.OK, details: 'OK' }));
}
