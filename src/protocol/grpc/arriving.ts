// Limits the bytes of large messages that arrive. gRPC keeps the parts of a message until it is
// whole, so a caller could fill the memory with messages that never end.

import type { Http2Stream } from 'node:http2';
import { type ByteTurns, LARGE_BYTES } from '../../support/turns.ts';

export interface ArrivingParts {
  readonly turns: ByteTurns;
  /** The messages under one name have a bounded size together. */
  readonly name: string | Promise<string>;
  readonly bytesMax: number;
  /** Called when a large message begins to wait, when it may arrive, and when it is whole. */
  readonly changed: (state: 'waits' | 'arrives' | 'whole') => void;
}

/** The room of a large message: resolves when it may arrive, with the function that frees it. */
export type Room = Promise<() => void>;

/** One byte for the compression, and four for the length. */
const PREFIX_BYTES = 5;

/**
 * Large messages wait for room before they are read. They keep it until they are handled, and at the
 * latest until the stream closes.
 */
export class Arriving {
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
