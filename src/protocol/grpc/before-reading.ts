// Authenticates the sender of a message before gRPC reads it, and reads it within the time of a
// request. By default, gRPC would read the whole message first, from any sender and however slowly.
// `WorkerStream` refuses the caller of a stream.
//
// This is a file of its own because its types need an optional peer, and the server's types must
// resolve without it.

import type { Http2Stream } from 'node:http2';
import type { Metadata, ServerInterceptingCallInterface, ServerInterceptor } from '@grpc/grpc-js';
import type { Timers } from '../../support/timer.ts';
import { ByteTurns } from '../../support/turns.ts';
import type { ReplyEnvelope } from '../messages/envelope.ts';
import { type Caller, projectShare } from '../rest/route.ts';
import { Arriving, type ArrivingParts } from './arriving.ts';

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
  /** The limit of one message. */
  readonly bytesMax: number;
  readonly timers: Timers;
}

interface IncomingCall {
  readonly metadata: Metadata;
  getPeer(): string;
}

/** Facts about each call that has not been handled yet, by its metadata. */
export interface Admitted {
  readonly callers: WeakMap<Metadata, Caller>;
  readonly streams: WeakMap<Metadata, OpeningStream>;
}

export interface OpeningStream {
  /** Rejects if the caller has no access. */
  readonly caller: Promise<Caller>;
  readonly arriving: Arriving;
}

/** The messages of the largest size that one project may send at once. */
const MESSAGES_AT_ONCE = 2;

export function beforeReading(parts: BeforeReading, admitted: Admitted): ServerInterceptor {
  const { driver, admit, cut, requestMs, timers, bytesMax } = parts;
  const turns = new ByteTurns(MESSAGES_AT_ONCE * bytesMax);
  const limit = (
    call: ServerInterceptingCallInterface,
    how: Pick<ArrivingParts, 'name' | 'changed'>,
  ): Arriving => new Arriving(streamOf(call), { turns, bytesMax, ...how });
  return ({ requestStream }, call) => {
    const peer = call.getPeer();
    const isLate = (): void => cut(peer);
    if (requestStream) {
      let arrived: () => void = () => undefined;
      const onReceiveMetadata = (metadata: Metadata, pass: (metadata: Metadata) => void): void => {
        const caller = admit({ metadata, getPeer: () => peer });
        const arriving = limit(call, {
          name: caller.then(
            ({ project }) => projectShare(project),
            () => `connection ${peer}`,
          ),
          changed: (state) => {
            arrived();
            if (state === 'arrives') arrived = timers.after(requestMs, isLate);
          },
        });
        admitted.streams.set(metadata, { caller, arriving });
        pass(metadata);
      };
      return new driver.ServerInterceptingCall(call, {
        start: (next) => next({ onReceiveMetadata }),
      });
    }
    let arrived = timers.after(requestMs, isLate);
    const onReceiveMetadata = (metadata: Metadata, pass: (metadata: Metadata) => void): void => {
      admit({ metadata, getPeer: () => peer }).then(
        (caller) => {
          admitted.callers.set(metadata, caller);
          const changed: ArrivingParts['changed'] = (state) => {
            // The end of the call comes after its message.
            if (state === 'whole') return;
            arrived();
            if (state === 'arrives') arrived = timers.after(requestMs, isLate);
          };
          limit(call, { name: projectShare(caller.project), changed });
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
          onCancel: () => arrived(),
        }),
    });
  };
}

/** An interceptor cannot pause a call. The HTTP/2 stream below it can; gRPC does not declare it. */
function streamOf(call: ServerInterceptingCallInterface): Http2Stream {
  return (call as ServerInterceptingCallInterface & { readonly stream: Http2Stream }).stream;
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
