// Releases, their lines and the logs of those, in plain maps.

import type { ExecutionRecord } from '../../../execution/execution.ts';
import {
  type Activation,
  type Line,
  pinOf,
  type Release,
  type ReleaseKey,
} from '../../../release/release.ts';
import type { OfPipeline } from '../../contract/release-store.ts';

export class ReleaseBook {
  readonly #releases: Map<string, Release> = new Map();
  readonly #lines: Map<string, Line> = new Map();
  readonly #logs: Map<string, Activation[]> = new Map();

  get(key: ReleaseKey): Release | undefined {
    return this.#releases.get(`${placeOf(key)}\0${key.name}`);
  }

  put(release: Release): void {
    this.#releases.set(`${placeOf(release)}\0${release.name}`, Object.freeze(release));
  }

  all(): Iterable<Release> {
    return this.#releases.values();
  }

  line(of: OfPipeline): Line | undefined {
    return this.#lines.get(placeOf(of));
  }

  change(of: OfPipeline, line: Line, entry: Activation): void {
    const place = placeOf(of);
    this.#lines.set(place, Object.freeze(line));
    this.#logs.set(place, [...(this.#logs.get(place) ?? []), Object.freeze(entry)]);
  }

  log(of: OfPipeline): readonly Activation[] {
    return this.#logs.get(placeOf(of)) ?? [];
  }

  /** RE-5: by the line as it is, unless it was asked for by name. */
  pinned(execution: ExecutionRecord): ExecutionRecord {
    if (execution.release !== undefined) return execution;
    const release = pinOf(this.line(execution), execution);
    return release === undefined ? execution : { ...execution, release };
  }
}

function placeOf({ project, pipeline }: OfPipeline): string {
  return `${project}\0${pipeline}`;
}
