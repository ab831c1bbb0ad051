import type { AccessStore } from '../../contract/access-store.ts';
import type { ExecutionState } from '../executions/state.ts';
import { endKey } from './end-key.ts';
import { addKey, key, keys } from './keys.ts';
import { project, projects, putProject } from './projects.ts';
import { AccessState } from './state.ts';
import { usage } from './usage.ts';

export function accessOf(executions: ExecutionState): AccessStore {
  const state = new AccessState(executions);
  return {
    putProject: async (request) => putProject(state, request),
    project: async (name) => project(state, name),
    projects: async (query) => projects(state, query),
    addKey: async (request) => addKey(state, request),
    key: async (id) => key(state, id),
    keys: async (query) => keys(state, query),
    endKey: async (request) => endKey(state, request),
    usage: async (query) => usage(state, query),
  };
}
