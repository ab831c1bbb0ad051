// The verbs of releases.

import type { ReleaseStore } from '../../contract/release-store.ts';
import { activations, changeLine, pinned, readLine } from './change-line.ts';
import { lines } from './lines.ts';
import { moveExecution } from './move-execution.ts';
import { notePreflight, readRelease, registerRelease, releases } from './releases.ts';
import type { ExecutionState } from './state.ts';
import { announce, workers } from './workers.ts';

export function releasesOf(state: ExecutionState): ReleaseStore {
  return {
    registerRelease: async (request) => registerRelease(state, request),
    release: async (key) => readRelease(state, key),
    releases: async (query) => releases(state, query),
    notePreflight: async (request) => notePreflight(state, request),
    changeLine: async (request) => changeLine(state, request),
    line: async (query) => readLine(state, query),
    lines: async (query) => lines(state, query),
    activations: async (query) => activations(state, query),
    pinned: async (query) => pinned(state, query),
    moveExecution: async (request) => moveExecution(state, request),
    announce: async (request) => announce(state, request),
    workers: async (query) => workers(state, query),
  };
}
