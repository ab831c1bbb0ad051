// Routes that read the archive, and archive now.

import { erasureMessage } from '../../protocol/rest/executions.ts';
import { writtenTimes } from '../../protocol/rest/handling.ts';
import { notFound } from '../../protocol/rest/problems.ts';
import {
  type Caller,
  type Coordinator,
  ProblemReply,
  projectShare,
  type Route,
  routesOf,
} from '../../protocol/rest/route.ts';
import { dateFrom } from '../../support/clock.ts';
import { weightOfBytes } from '../../support/turns.ts';
import { recordOperation } from '../audit/routes.ts';
import type { ArchivedInFull } from './api.ts';
import { type ArchivedMessage, archiveOperations } from './messages.ts';
import type { ArchivedExecution } from './model.ts';

export const archiveRoutes: readonly Route[] = routesOf(archiveOperations, {
  async listArchive({ holdfast }, { query, caller }) {
    const { from, to, ...rest } = query;
    const { items, cursor } = await holdfast.archive.list({
      ...rest,
      project: caller.project,
      ...(from === undefined ? {} : { from: dateFrom(from) }),
      ...(to === undefined ? {} : { to: dateFrom(to) }),
    });
    return { status: 200, body: { items: items.map(archivedMessage), ...(cursor && { cursor }) } };
  },

  async readArchived(coordinator, { params, caller }) {
    const { documents, ...found } = await archivedFor(coordinator, caller, params.id);
    return { status: 200, body: { ...archivedMessage(found), documents } };
  },

  async readArchivedDocument(coordinator, { params, query, caller }) {
    await knownTo(coordinator, caller, params.id);
    // Outside of the turns of `download`: values must not wait for an archive that is slow.
    const bytes = await coordinator.holdfast.archive.document(params.id, query.name);
    coordinator.shares.charge(projectShare(caller.project), weightOfBytes(bytes?.length ?? 0));
    if (bytes === undefined) throw await documentUnknown(coordinator, params.id, query.name);
    // As with attachments: a browser must not interpret content from users.
    const headers = { 'content-disposition': 'attachment', 'x-content-type-options': 'nosniff' };
    return { status: 200, raw: { type: 'application/octet-stream', bytes }, headers };
  },

  async verifyArchived(coordinator, { params, caller }) {
    await knownTo(coordinator, caller, params.id);
    return { status: 200, body: await coordinator.holdfast.archive.verify(params.id) };
  },

  async runArchive(coordinator, { body, caller }) {
    const { holdfast } = coordinator;
    await recordOperation(coordinator, caller, {
      ...{ action: 'run-archive', target: { kind: 'project', id: caller.project } },
      about: { asked: 'run', ...body },
    });
    const done = await holdfast.archive.run({ ...body, project: caller.project });
    return { status: 200, body: done };
  },
});

async function archivedFor(
  coordinator: Coordinator,
  caller: Caller,
  id: string,
): Promise<ArchivedInFull> {
  await knownTo(coordinator, caller, id);
  const found = await coordinator.holdfast.archive.get(id);
  if (found === undefined) throw notFound(`archived execution ${id}`);
  return found;
}

async function documentUnknown(
  { holdfast }: Coordinator,
  id: string,
  name: string,
): Promise<ProblemReply> {
  const there = (await holdfast.archive.get(id))?.documents.map((each) => each.name) ?? [];
  const more = there.length > NAMED_MAX ? `, and ${there.length - NAMED_MAX} more` : '';
  const named = there.slice(0, NAMED_MAX).join(', ');
  const which = named === '' ? '' : ` It has: ${named}${more}.`;
  return new ProblemReply(
    'not-found',
    `Archived execution ${id} has no document ${JSON.stringify(name)}.${which}`,
  );
}

const NAMED_MAX = 20;

/** An execution of another project counts as missing. */
async function knownTo({ store }: Coordinator, caller: Caller, id: string): Promise<void> {
  const found = await store.executions.archived(id as ArchivedExecution['id']);
  if (found?.project !== caller.project) throw notFound(`archived execution ${id}`);
}

function archivedMessage({ project: _, erased, ...each }: ArchivedExecution): ArchivedMessage {
  const times = writtenTimes(each, 'submittedAt', 'endedAt', 'archivedAt');
  const erasure = erased && { erased: erasureMessage(erased) };
  return { ...each, tags: [...each.tags], ...times, ...erasure };
}
