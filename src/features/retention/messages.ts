// What was archived: the index, the documents of one, whether they are intact, and archiving now.

import { type Static, Type } from 'typebox';
import { TERMINAL, type TerminalStatus } from '../../execution/execution.ts';
import {
  CLOSED,
  count,
  executionId,
  instant,
  limit,
  name,
  pageOf,
} from '../../protocol/messages/words.ts';

const status = Type.Enum([...TERMINAL] as TerminalStatus[]);
const digest = Type.String({ description: 'SHA-256, as hex.' });

export const archived = Type.Object(
  {
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
  },
  CLOSED,
);

export type ArchivedMessage = Static<typeof archived>;

export const archivedPage = pageOf(archived);

export const archiveQuery = Type.Object(
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
    cursor: Type.Optional(
      Type.String({ pattern: '^[0-9]{1,15}:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' }),
    ),
    limit: Type.Optional(limit),
  },
  { ...CLOSED, description: '`from` is the first moment of their end, `to` the first after it.' },
);

export const archivedDocument = Type.Object(
  {
    name: Type.String(),
    type: Type.String(),
    bytes: count,
    sha256: digest,
    title: Type.Optional(Type.String({ description: 'What it was called.' })),
  },
  CLOSED,
);

export const archivedInFull = Type.Object(
  { ...archived.properties, documents: Type.Array(archivedDocument) },
  CLOSED,
);

export type ArchivedInFullMessage = Static<typeof archivedInFull>;

export const documentQuery = Type.Object({ name }, CLOSED);

export const verified = Type.Union([
  Type.Object({ kind: Type.Literal('intact'), documents: count }, CLOSED),
  Type.Object(
    {
      kind: Type.Literal('damaged'),
      damages: Type.Array(
        Type.Object({ document: Type.String(), why: Type.Enum(['missing', 'changed']) }, CLOSED),
      ),
    },
    CLOSED,
  ),
]);

export type VerifiedMessage = Static<typeof verified>;

export const archiveRunBody = Type.Object(
  { cursor: Type.Optional(executionId), limit: Type.Optional(limit) },
  CLOSED,
);

export const archiveRun = Type.Object(
  {
    due: count,
    archived: count,
    removed: count,
    failed: count,
    cursor: Type.Optional(Type.String({ description: 'For the next page; absent on the last.' })),
  },
  CLOSED,
);

export type ArchiveRunMessage = Static<typeof archiveRun>;
