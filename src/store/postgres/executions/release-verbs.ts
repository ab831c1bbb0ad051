// The verbs of releases.

import type { ReleaseStore } from '../../contract/release-store.ts';
import { activations, changeLine, pinned, readLine } from './change-line.ts';
import { lines } from './lines.ts';
import { moveExecution } from './move-execution.ts';
import type { Parts } from './parts.ts';
import { notePreflight, readRelease, registerRelease, releases } from './releases.ts';
import { announce, workers } from './workers.ts';

export function releasesOf(parts: Parts): ReleaseStore {
  const { database } = parts;
  return {
    registerRelease: (request) => registerRelease(parts, request),
    release: (key) => readRelease(database, key),
    releases: (query) => releases(database, query),
    notePreflight: (request) => notePreflight(parts, request),
    changeLine: (request) => changeLine(parts, request),
    line: (query) => readLine(database, query),
    lines: (query) => lines(database, query),
    activations: (query) => activations(database, query),
    pinned: (query) => pinned(database, query),
    moveExecution: (request) => moveExecution(parts, request),
    announce: (request) => announce(parts, request),
    workers: (query) => workers(database, query),
  };
}
