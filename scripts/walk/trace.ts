// Finds the files of src/ that a request passes, in the order in which it first reaches them.
//
// The request runs several times. In the first run, V8's precise coverage lists the functions that it calls. In
// the others, each of them has a logpoint at its first statement: a breakpoint whose condition
// records the file and is always false.

import { Session } from 'node:inspector/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const ROOT = pathToFileURL(join(import.meta.dirname, '../..')).href;
const SOURCE = `${ROOT}/src/`;
const NOTE = '__holdfastWalk';
/** Other work of the process may fall into a run, so the first walk that three runs agree on counts. */
const AGREEING = 3;
const RUNS_MAX = 20;

/** Prepares everything that the request needs, and returns the request. */
export type Prepare = () => Promise<() => Promise<unknown>>;

interface Called {
  readonly script: string;
  readonly file: string;
  readonly start: number;
}

/** Returns paths that begin with `src/`. */
export async function trace(prepare: Prepare): Promise<readonly string[]> {
  const session = new Session();
  session.connect();
  try {
    await (await prepare())();
    const called = await calledBy(session, await prepare());
    return await passedBy(session, called, prepare);
  } finally {
    session.disconnect();
  }
}

async function calledBy(
  session: Session,
  request: () => Promise<unknown>,
): Promise<readonly Called[]> {
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  await take(session);
  await request();
  const called = await take(session);
  await session.post('Profiler.stopPreciseCoverage');
  await session.post('Profiler.disable');
  return called;
}

/** Returns the functions called since the last call of `take`. */
async function take(session: Session): Promise<readonly Called[]> {
  const { result } = await session.post('Profiler.takePreciseCoverage');
  return result.flatMap(({ url, scriptId: script, functions }) => {
    if (!url.startsWith(SOURCE)) return [];
    const file = url.slice(ROOT.length + 1);
    return functions.flatMap(({ ranges: [range] }): Called[] => {
      // Offset 0 is the file itself, which V8 counts as a function that ran when it was loaded.
      if (range === undefined || range.count === 0 || range.startOffset === 0) return [];
      return [{ script, file, start: range.startOffset }];
    });
  });
}

async function passedBy(
  session: Session,
  called: readonly Called[],
  prepare: Prepare,
): Promise<readonly string[]> {
  const passed = new Set<string>();
  Object.assign(globalThis, { [NOTE]: (file: string) => passed.add(file) });
  await session.post('Debugger.enable');
  for (const [scriptId, functions] of Map.groupBy(called, ({ script }) => script)) {
    const { scriptSource } = await session.post('Debugger.getScriptSource', { scriptId });
    for (const each of functions) await setLogpoint(session, scriptSource, each);
  }
  const seen = new Map<string, number>();
  let walk = '';
  for (let run = 0; run < RUNS_MAX; run += 1) {
    const request = await prepare();
    passed.clear();
    await request();
    walk = [...passed].join(' ');
    const times = (seen.get(walk) ?? 0) + 1;
    if (times === AGREEING) break;
    seen.set(walk, times);
  }
  await session.post('Debugger.disable');
  return walk.split(' ');
}

/** V8 moves the breakpoint to the next possible position: the first statement of the function. */
async function setLogpoint(
  session: Session,
  source: string,
  { script: scriptId, file, start }: Called,
): Promise<void> {
  const before = source.slice(0, start).split('\n');
  const columnNumber = before.at(-1)?.length ?? 0;
  const location = { scriptId, lineNumber: before.length - 1, columnNumber };
  const condition = `globalThis.${NOTE}(${JSON.stringify(file)}), false`;
  // If two functions begin at one position, V8 refuses the second logpoint, which is not needed.
  await session.post('Debugger.setBreakpoint', { location, condition }).catch(() => undefined);
}
