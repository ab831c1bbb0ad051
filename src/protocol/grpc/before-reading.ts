// Authenticates the sender of a message before gRPC reads it, and reads it within the time of a
// request. By default, gRPC would read the whole message first, from any sender and however slowly.
// `WorkerStream` refuses the caller of a stream.
//
// This is a file of its own because its types need an optional peer, and the server's types must
// resolve without it.

import { constants, type Http2Session, type Http2Stream } from 'node:http2';
import type { Metadata, ServerInterceptingCallInterface, ServerInterceptor } from '@grpc/grpc-js';
import type { Timers } from '../../support/timer.ts';
import { ByteTurns, LARGE_BYTES, Turns } from '../../support/turns.ts';
import { type Caller, callerGone, projectShare } from '../rest/route.ts';

interface BeforeReading {
  readonly driver: Pick<
    typeof import('@grpc/grpc-js'),
    'Metadata' | 'ServerInterceptingCall' | 'status'
  >;
  /** Throws if the caller has no access. */
  readonly admit: (call: IncomingCall) => Promise<Caller>;
  readonly refuse: (refusal: unknown) => Promise<Buffer>;
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
  /** The HTTP/2 streams of unary calls. */
  readonly below: WeakMap<Metadata, Http2Stream>;
}

export interface OpeningStream {
  /** Rejects if the caller has no access. */
  readonly caller: Promise<Caller>;
  readonly arriving: Arriving;
}

type OnMetadata = (metadata: Metadata, pass: (metadata: Metadata) => void) => void;

/** The callers of one connection whose keys are looked up at once. */
const LOOKUPS_MAX = 16;

/** The messages of the largest size that one project may send at once. */
const MESSAGES_AT_ONCE = 2;

export function beforeReading(parts: BeforeReading, admitted: Admitted): ServerInterceptor {
  const { driver, cut, requestMs, timers, bytesMax } = parts;
  const lookups = new Turns(LOOKUPS_MAX);
  const admit = (metadata: Metadata, call: ServerInterceptingCallInterface): Promise<Caller> => {
    const peer = call.getPeer();
    return lookups.take(peer, async () => {
      if (streamOf(call).closed) throw callerGone();
      return parts.admit({ metadata, getPeer: () => peer });
    });
  };
  const turns = new ByteTurns(MESSAGES_AT_ONCE * bytesMax);
  const limit = (
    call: ServerInterceptingCallInterface,
    how: Pick<ArrivingParts, 'name' | 'changed'>,
  ): Arriving => new Arriving(streamOf(call), { turns, bytesMax, ...how });
  const excess = new Excess();
  /** Handles a call only if its peer has not reset it yet. */
  const unlessReset =
    (call: ServerInterceptingCallInterface, handle: OnMetadata): OnMetadata =>
    (metadata, pass) => {
      const stream = streamOf(call);
      if (!excess.began(stream, metadata)) return;
      // A peer can send a stream and its reset together. The reset is seen in this turn.
      timers.soon(() => {
        if (!stream.closed) handle(metadata, pass);
      });
    };
  return ({ requestStream }, call) => {
    const peer = call.getPeer();
    const isLate = (): void => cut(peer);
    if (requestStream) {
      let arrived: () => void = () => undefined;
      const onReceiveMetadata = unlessReset(call, (metadata, pass) => {
        const caller = admit(metadata, call);
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
      });
      return new driver.ServerInterceptingCall(call, {
        start: (next) => next({ onReceiveMetadata }),
      });
    }
    let arrived = timers.after(requestMs, isLate);
    const onReceiveMetadata = unlessReset(call, (metadata, pass) => {
      admit(metadata, call).then(
        (caller) => {
          admitted.callers.set(metadata, caller);
          admitted.below.set(metadata, streamOf(call));
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
    });
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

// Ends connections whose calls cost much before their callers are known. gRPC has no such limits:
// a call that was reset no longer counts as open, so a peer can begin any number of them.

/** A connection may have reset this many more calls than it has let end. */
const RESETS_MAX = 200;
/** A few bytes can refer to large metadata of an earlier call. */
const METADATA_BYTES_MAX = 16 * 1024;

class Excess {
  readonly #resets: WeakMap<Http2Session, number> = new WeakMap();

  /** False if its connection was ended. */
  began(stream: Http2Stream, metadata: Metadata): boolean {
    const { session } = stream;
    if (session === undefined || session.destroyed) return false;
    if (bytesOf(metadata) > METADATA_BYTES_MAX) return end(session);
    const count = (by: number): void => {
      const resets = Math.max(0, (this.#resets.get(session) ?? 0) + by);
      this.#resets.set(session, resets);
      if (resets > RESETS_MAX && !session.destroyed) end(session);
    };
    // Node emits `aborted` while it reads the reset, even if it goes on reading the connection.
    stream.once('aborted', () => count(1));
    stream.once('close', () => (stream.aborted ? undefined : count(-1)));
    return true;
  }
}

function end(session: Http2Session): false {
  session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM);
  session.destroy();
  return false;
}

function bytesOf(metadata: Metadata): number {
  let bytes = 0;
  for (const [name, values] of Object.entries(metadata.toHttp2Headers())) {
    for (const value of [values].flat()) bytes += name.length + String(value).length;
  }
  return bytes;
}

// Limits the bytes of large messages that arrive. gRPC keeps the parts of a message until it is
// whole, so a caller could fill the memory with messages that never end.

interface ArrivingParts {
  readonly turns: ByteTurns;
  /** The messages under one name have a bounded size together. */
  readonly name: string | Promise<string>;
  readonly bytesMax: number;
  /** Called when a large message begins to wait, when it may arrive, and when it is whole. */
  readonly changed: (state: 'waits' | 'arrives' | 'whole') => void;
}

/** The room of a large message: resolves when it may arrive, with the function that frees it. */
type Room = Promise<() => void>;

/** One byte for the compression, and four for the length. */
const PREFIX_BYTES = 5;

/**
 * Large messages wait for room before they are read. They keep it until they are handled, and at the
 * latest until the stream closes.
 */
class Arriving {
  readonly #parts: ArrivingParts;
  readonly #stream: Http2Stream;
  #prefix = Buffer.alloc(0);
  /** Bytes of the current message that are still to come. */
  #left = 0;
  #isWaiting = false;
  /** One for each message that has begun and was not taken over; undefined for a small one. */
  readonly #rooms: (Room | undefined)[] = [];

  constructor(stream: Http2Stream, parts: ArrivingParts) {
    this.#stream = stream;
    this.#parts = parts;
    stream.on('data', (data: Buffer) => this.#onData(data));
    stream.once('close', () => {
      parts.changed('whole');
      for (const room of this.#rooms.splice(0)) void room?.then((free) => free());
    });
  }

  /** The room of the next message, which its receiver frees. */
  takeRoom(): Room | undefined {
    return this.#rooms.shift();
  }

  #onData(data: Buffer): void {
    for (let at = 0; at < data.length; ) {
      if (this.#left > 0) {
        const taken = Math.min(this.#left, data.length - at);
        this.#left -= taken;
        at += taken;
        if (this.#left === 0) this.#parts.changed('whole');
        continue;
      }
      const taken = PREFIX_BYTES - this.#prefix.length;
      this.#prefix = Buffer.concat([this.#prefix, data.subarray(at, at + taken)]);
      at += taken;
      if (this.#prefix.length === PREFIX_BYTES) this.#begin();
    }
    // gRPC resumes the stream when it wants the next message.
    if (this.#isWaiting) this.#stream.pause();
  }

  #begin(): void {
    const { bytesMax } = this.#parts;
    this.#left = this.#prefix.readUInt32BE(1);
    const isCompressed = this.#prefix[0] !== 0;
    this.#prefix = Buffer.alloc(0);
    // gRPC refuses a longer message.
    const bytes = isCompressed ? bytesMax : Math.min(bytesMax, this.#left);
    this.#rooms.push(bytes > LARGE_BYTES ? this.#wait(bytes) : undefined);
  }

  async #wait(bytes: number): Room {
    const { turns, name, changed } = this.#parts;
    this.#isWaiting = true;
    changed('waits');
    const free = await turns.take(await name, bytes);
    this.#isWaiting = false;
    if (!this.#stream.destroyed) {
      if (this.#left > 0) changed('arrives');
      this.#stream.resume();
    }
    return free;
  }
}
