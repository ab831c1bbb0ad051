// References to values that are kept apart, in what workers write and in what they are given. A reference in a
// row gives the project its value where that is from before, so none gets into a row that the project does
// not have: who knows a digest has nothing by it.

import type { ExecutionId, ProjectName } from '../../execution/names.ts';
import type { ExecutionStore } from '../../store/contract/execution-store.ts';
import type { ReadBlob } from '../../store/contract/payload-store.ts';
import { ProblemReply } from './route.ts';

const DIGEST = /^[0-9a-f]{64}$/;
/** As the engine writes it. */
const MARK = '"ref":"';
const PAGE = 1_000;
/**
 * A worker may have put a value through a coordinator of the build before, and refer to it here. So long after such
 * a build has put it, knowing the digest is enough, as it is for that build.
 */
const SWITCH_MS = 600_000;

/** Of a payload or a body. What is inline is the user's own, whatever it looks like. */
export function referencesIn(value: unknown): readonly string[] {
  const found: string[] = [];
  collect(value, found);
  return found;
}

function collect(value: unknown, found: string[]): void {
  if (typeof value !== 'object' || value === null) return;
  const { ref } = value as { readonly ref?: unknown };
  if (typeof ref === 'string' && DIGEST.test(ref)) found.push(ref);
  for (const name of Object.keys(value)) {
    if (name !== 'v') collect((value as Readonly<Record<string, unknown>>)[name], found);
  }
}

/** Before a worker is given them, so that it can ask for what they refer to. Texts without references cost a look. */
export async function giveOut(
  executions: ExecutionStore,
  project: ProjectName,
  texts: Iterable<string | undefined>,
): Promise<void> {
  const digests: string[] = [];
  for (const text of texts) {
    if (text?.includes(MARK) === true) digests.push(...referencesIn(parsedOf(text)));
  }
  if (digests.length === 0) return;
  const missing = await executions.missingBlobs({ project, digests });
  if (missing.length > 0) await executions.attributeBlobs({ project, digests: missing });
}

function parsedOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Whatever it is, nobody finds a reference in it.
    return undefined;
  }
}

/** What a worker asks for by its digest. */
export async function valueFor(
  executions: ExecutionStore,
  asked: ReadBlob,
): Promise<Uint8Array | undefined> {
  const own = await executions.getBlob(asked);
  if (own !== undefined) return own;
  const { project, digest } = asked;
  await executions.attributeBlobs({ project, digests: [digest], putWithinMs: SWITCH_MS });
  // What a coordinator of the build before has given out with a claim.
  for (const id of await executions.referring(asked)) {
    for await (const texts of textsOf(executions, id)) await giveOut(executions, project, texts);
  }
  return executions.getBlob(asked);
}

/** Throws when a write refers to what the project has not: put for it, or referred to by the execution already. */
export async function requireOwnValues(
  executions: ExecutionStore,
  project: ProjectName,
  { id, digests }: { readonly id: ExecutionId; readonly digests: readonly string[] },
): Promise<void> {
  if (digests.length === 0) return;
  const asked = { project, digests };
  if ((await executions.missingBlobs(asked)).length === 0) return;
  await executions.attributeBlobs({ ...asked, putWithinMs: SWITCH_MS });
  // What a coordinator of the build before has given out.
  if ((await executions.read(id))?.project === project) {
    for await (const texts of textsOf(executions, id)) await giveOut(executions, project, texts);
  }
  const [missing] = await executions.missingBlobs(asked);
  if (missing === undefined) return;
  throw new ProblemReply(
    400,
    'invalid-input',
    `A write of ${id} refers to the value ${missing}, which its project has not stored. Put the bytes first. Nothing was written.`,
  );
}

/** What an execution may refer to, page by page. */
async function* textsOf(
  executions: ExecutionStore,
  id: ExecutionId,
): AsyncGenerator<readonly (string | undefined)[]> {
  const record = await executions.read(id);
  yield [record?.input, record?.progress];
  for (let after = 0, length = PAGE; length === PAGE; ) {
    const page = await executions.history({ id, after, limit: PAGE });
    yield page.map(({ body }) => body);
    length = page.length;
    after = page.at(-1)?.seq ?? after;
  }
  for (let after = 0, length = PAGE; length === PAGE; ) {
    const page = await executions.inbox({ id, after, limit: PAGE });
    yield page.map(({ body }) => body);
    length = page.length;
    after = page.at(-1)?.n ?? after;
  }
}
