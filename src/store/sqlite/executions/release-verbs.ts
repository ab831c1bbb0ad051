// The verbs of releases.

import type { ReleaseStore } from '../../contract/release-store.ts';
import type { Database } from '../database.ts';
import { activations, changeLine, pinned, readLine } from './change-line.ts';
import { lines } from './lines.ts';
import { moveExecution } from './move-execution.ts';
import { notePreflight, readRelease, registerRelease, releases } from './releases.ts';
import { announce, workers } from './workers.ts';

export function releasesOf(database: Database): ReleaseStore {
  return {
    registerRelease: (request) => database.perform(registerRelease, request),
    release: (key) => database.read((tx) => readRelease(tx, key)),
    releases: (query) => database.read((tx) => releases(tx, query)),
    notePreflight: (request) => database.perform(notePreflight, request),
    changeLine: (request) => database.perform(changeLine, request),
    line: (query) => database.read((tx) => readLine(tx, query)),
    lines: (query) => database.read((tx) => lines(tx, query)),
    activations: (query) => database.read((tx) => activations(tx, query)),
    pinned: (query) => database.read((tx) => pinned(tx, query)),
    moveExecution: (request) => database.perform(moveExecution, request),
    announce: (request) => database.perform(announce, request),
    workers: (query) => database.read((tx) => workers(tx, query)),
  };
}
