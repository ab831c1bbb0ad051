// Sessions → messages, and whose they are.

import type { SessionInspection } from '../../lease/port.ts';
import { formatInstant } from '../../support/clock.ts';
import type { SessionMessage } from '../messages/operations.ts';
import type { Caller } from './route.ts';
import { PIPELINES, PROJECT } from './work-session.ts';

/** What came by no project's key is for keys of all projects. */
export function maySee({ project, isOfAll }: Caller, { session }: SessionInspection): boolean {
  return isOfAll || session.metadata[PROJECT] === project;
}

export function sessionMessage(inspection: SessionInspection): SessionMessage {
  const { session, state, authorityMs, remainingMs } = inspection;
  const { id, owner, ttlMs, graceMs, metadata, end } = session;
  const { [PROJECT]: project, [PIPELINES]: pipelines } = metadata;
  return {
    ...{ id, owner, state, ttlMs, graceMs, remainingMs: whole(remainingMs) },
    slackMs: whole(authorityMs),
    openedAt: formatInstant(session.openedAt),
    beatAt: formatInstant(session.beatAt),
    ...(project === undefined ? {} : { project }),
    ...(pipelines === undefined ? {} : { pipelines: pipelines.split(' ') }),
    ...(end === undefined ? {} : { end: { ...end, at: formatInstant(end.at) } }),
  };
}

function whole(ms: number): number {
  return Math.trunc(ms);
}
