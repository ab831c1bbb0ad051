// Limits the bytes of large messages that arrive. gRPC keeps the parts of a message until it is
// whole, so a caller could fill the memory with messages that never end.

import type { Http2Stream } from 'node:http2';
import { type ByteTurns, LARGE_BYTES } from '../../support/turns.ts';

export interface ArrivingParts {
  readonly turns: ByteTurns;
  /** The messages under one name have a bounded size together. */
  readonly name: string;
  readonly bytesMax: number;
  /** Until when a message keeps its room. A single message is parsed after it is whole. */
  readonly keeps: 'until-whole' | 'until-closed';
  /** Called when a large message begins to wait, and when it may arrive. */
  readonly waits?: (isWaiting: boolean) => void;
}

/** One byte for the compression, and four for the length. */
const PREFIX_BYTES = 5;

/** Large messages wait for room before they are read. */
export class Arriving {
  readonly #parts: ArrivingParts;
  readonly #stream: Http2Stream;
  #prefix = Buffer.alloc(0);
  /** Bytes of the current message that are still to come. */
  #left = 0;
  #isWaiting = false;
  readonly #frees: (() => void)[] = [];

  constructor(stream: Http2Stream, parts: ArrivingParts) {
    this.#stream = stream;
    this.#parts = parts;
    stream.on('data', (data: Buffer) => this.#onData(data));
    stream.once('close', () => this.#free());
  }

  #free(): void {
    for (const free of this.#frees.splice(0)) free();
  }

  #onData(data: Buffer): void {
    for (let at = 0; at < data.length; ) {
      if (this.#left > 0) {
        const taken = Math.min(this.#left, data.length - at);
        this.#left -= taken;
        at += taken;
        if (this.#isWhole()) this.#free();
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

  #isWhole(): boolean {
    return this.#left === 0 && this.#parts.keeps === 'until-whole';
  }

  #begin(): void {
    const { bytesMax } = this.#parts;
    this.#left = this.#prefix.readUInt32BE(1);
    const isCompressed = this.#prefix[0] !== 0;
    this.#prefix = Buffer.alloc(0);
    // gRPC refuses a longer message.
    const bytes = isCompressed ? bytesMax : Math.min(bytesMax, this.#left);
    if (bytes > LARGE_BYTES) void this.#wait(bytes);
  }

  async #wait(bytes: number): Promise<void> {
    const { turns, name, waits } = this.#parts;
    this.#isWaiting = true;
    waits?.(true);
    this.#frees.push(await turns.take(name, bytes));
    this.#isWaiting = false;
    if (this.#stream.destroyed || this.#isWhole()) this.#free();
    if (this.#stream.destroyed) return;
    waits?.(false);
    this.#stream.resume();
  }
}
