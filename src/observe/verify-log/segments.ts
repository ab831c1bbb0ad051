// Which run of which writer an entry belongs to. Logs are given in any order, as rotated files or as
// copies: what was read already is not read twice, and what one writer wrote is put back in its order.

import type { HeaderEntry, LocatedEntry, Place } from '../lease-log/entry.ts';

/** From one header to the next. */
export interface Segment {
  /** The same for all segments of one writer. */
  readonly writer: number;
  readonly part: number;
}

interface Known extends Segment {
  /** Lines after the header that were read. */
  readonly lines: Set<number>;
}

export class Segments {
  readonly #known: Map<string, Known> = new Map();
  readonly #writers: Map<string, number> = new Map();
  /** Where each file is now. */
  readonly #current: Map<string, { readonly segment: Known; readonly headerLine: number }> =
    new Map();

  /** Undefined when this line, or its copy, was read before. */
  segmentOf(entry: LocatedEntry): Segment | undefined {
    const { place } = entry;
    if (entry.kind === 'header') this.#begin(entry, place);
    const current = this.#current.get(place.log) ?? this.#unheaded(place);
    const line = place.line - current.headerLine;
    if (current.segment.lines.has(line)) return undefined;
    current.segment.lines.add(line);
    return current.segment;
  }

  #begin({ writer, part = 0 }: HeaderEntry, { log, line }: Place): void {
    const segment = this.#segment(writer ?? `${log}:${line}`, part);
    this.#current.set(log, { segment, headerLine: line });
  }

  /** For entries that were not read from a file. */
  #unheaded({ log }: Place): { readonly segment: Known; readonly headerLine: number } {
    const current = { segment: this.#segment(log, 0), headerLine: 0 };
    this.#current.set(log, current);
    return current;
  }

  #segment(writer: string, part: number): Known {
    const name = `${part} ${writer}`;
    const number = this.#writers.get(writer) ?? this.#writers.size;
    this.#writers.set(writer, number);
    const segment = this.#known.get(name) ?? { writer: number, part, lines: new Set() };
    this.#known.set(name, segment);
    return segment;
  }
}

export function inWritingOrder<Item>(
  items: readonly { readonly segment: Segment; readonly item: Item }[],
): readonly Item[] {
  const order = (a: Segment, b: Segment): number => a.writer - b.writer || a.part - b.part;
  return [...items].sort((a, b) => order(a.segment, b.segment)).map(({ item }) => item);
}
