// The archive: its index, the documents of one execution, verification, and archiving now.

import { type Static, Type } from 'typebox';
import { TERMINAL, type TerminalStatus } from '../../execution/execution.ts';
import { idParams } from '../../protocol/messages/execution.ts';
import type { Operations } from '../../protocol/messages/operation.ts';
import {
  closed,
  count,
  executionId,
  instant,
  name,
  pageOf,
  paging,
} from '../../protocol/messages/words.ts';

const status = Type.Enum([...TERMINAL] as TerminalStatus[]);
const digest = Type.String({ description: 'SHA-256, as hex.' });

const archived = closed({
  id: executionId,
  pipeline: Type.String(),
  status,
  submittedAt: instant,
  endedAt: instant,
  archivedAt: instant,
  key: Type.Optional(Type.String()),
  tags: Type.Array(Type.String()),
  parent: Type.Optional(executionId),
  redriveOf: Type.Optional(executionId),
  place: Type.String({ description: 'Where its documents are in the archive.' }),
  digest,
});

export type ArchivedMessage = Static<typeof archived>;

const archiveQuery = closed(
  {
    pipeline: Type.Optional(name),
    status: Type.Optional(status),
    tag: Type.Optional(name),
    text: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 256,
        description: 'Words of the key; all of them must be there.',
      }),
    ),
    from: Type.Optional(instant),
    to: Type.Optional(instant),
    ...paging(Type.String({ pattern: '^[0-9]{1,15}:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' })),
  },
  { description: '`from` is the first moment of their end, `to` the first after it.' },
);

const archivedInFull = closed({
  ...archived.properties,
  documents: Type.Array(
    closed({
      name: Type.String(),
      type: Type.String(),
      bytes: count,
      sha256: digest,
      title: Type.Optional(Type.String({ description: 'What it was called.' })),
    }),
  ),
});

export type ArchivedInFullMessage = Static<typeof archivedInFull>;

const verified = Type.Union([
  closed({ kind: Type.Literal('intact'), documents: count }),
  closed({
    kind: Type.Literal('damaged'),
    damages: Type.Array(
      closed({ document: Type.String(), why: Type.Enum(['missing', 'changed']) }),
    ),
  }),
]);

export type VerifiedMessage = Static<typeof verified>;

const archiveRun = closed({
  due: count,
  archived: count,
  removed: count,
  failed: count,
  cursor: Type.Optional(Type.String({ description: 'For the next page; absent on the last.' })),
});

export type ArchiveRunMessage = Static<typeof archiveRun>;

export const archiveOperations = {
  listArchive: {
    at: 'GET /v1/archive',
    summary: 'Executions whose rows are gone, the last ended first.',
    allows: ['submit', 'operate'],
    query: archiveQuery,
    answers: { 200: { what: 'A page.', schema: pageOf(archived) } },
  },
  readArchived: {
    at: 'GET /v1/archive/:id',
    summary: 'One archived execution, and what documents there are of it.',
    allows: ['submit', 'operate'],
    params: idParams,
    answers: { 200: { what: 'As it was archived.', schema: archivedInFull } },
  },
  readArchivedDocument: {
    at: 'GET /v1/archive/:id/document',
    summary: 'The content of one document, as a download.',
    allows: ['submit', 'operate'],
    params: idParams,
    query: closed({ name }),
    answers: { 200: { what: 'Its bytes.' } },
  },
  verifyArchived: {
    at: 'GET /v1/archive/:id/verification',
    summary: 'Reads every document of one, and compares it with its digest.',
    allows: ['operate'],
    params: idParams,
    answers: { 200: { what: 'Whether they are what was archived.', schema: verified } },
  },
  runArchive: {
    at: 'POST /v1/archive/run',
    summary: 'Archives and removes what is due in this project, now: one page.',
    allows: ['operate'],
    body: closed(paging(executionId)),
    answers: { 200: { what: 'What became of the page.', schema: archiveRun } },
  },
} as const satisfies Operations;
