import { differenceOf } from '../../../release/decide/line.ts';
import { keptPreflight } from '../../../release/decide/preflight.ts';
import type { Release, ReleaseKey } from '../../../release/release.ts';
import type {
  ListReleases,
  NotePreflight,
  PreflightNoted,
  RegisterRelease,
  ReleaseRegistered,
} from '../../contract/release-store.ts';
import { type ExecutionState, inByteOrder } from './state.ts';

/** RE-3: a name is given once. */
export function registerRelease(
  state: ExecutionState,
  request: RegisterRelease,
): ReleaseRegistered {
  const { pipeline, name } = request;
  const stored = readRelease(state, request);
  if (stored === undefined) {
    const createdAt = state.kernel.now();
    state.releases.put({ ...structuredClone(request), createdAt });
    return { kind: 'registered', existing: false };
  }
  if (stored.retiredAt !== undefined) {
    return { kind: 'refused', why: 'release-retired', pipeline, name };
  }
  const part = differenceOf(stored, request);
  if (part !== undefined) return { kind: 'refused', why: 'release-differs', pipeline, name, part };
  return { kind: 'registered', existing: true };
}

export function readRelease(state: ExecutionState, key: ReleaseKey): Release | undefined {
  return state.releases.get(key);
}

export function releases(state: ExecutionState, query: ListReleases): readonly Release[] {
  const { project, pipeline, before, limit } = query;
  return [...state.releases.all()]
    .filter((each) => each.project === project)
    .filter((each) => pipeline === undefined || each.pipeline === pipeline)
    .sort(newestFirst)
    .filter((each) => before === undefined || newestFirst(before, each) < 0)
    .slice(0, limit);
}

type Place = Pick<Release, 'createdAt' | 'pipeline' | 'name'>;

function newestFirst(a: Place, b: Place): number {
  return (
    b.createdAt - a.createdAt || inByteOrder(b.pipeline, a.pipeline) || inByteOrder(b.name, a.name)
  );
}

export function notePreflight(state: ExecutionState, request: NotePreflight): PreflightNoted {
  const { pipeline, name, unseen = [] } = request;
  const stored = readRelease(state, request);
  if (stored === undefined) return { kind: 'refused', why: 'release-unknown', pipeline, name };
  const at = state.kernel.now();
  const preflight = keptPreflight(stored.preflight, request.preflight, unseen);
  state.releases.put({ ...stored, preflight: { ...structuredClone(preflight), at } });
  return { kind: 'noted', preflight };
}
