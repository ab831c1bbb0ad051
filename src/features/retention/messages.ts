// Archived executions: the index, their documents, verification, and archiving now.

import { type Static, Type } from 'typebox';
import { TERMINAL, type TerminalStatus } from '../../execution/execution.ts';
import { erasure, idParams } from '../../protocol/messages/execution.ts';
import { DOWNLOAD, operationsOf, READERS } from '../../protocol/messages/operation.ts';
import {
  choice,
  closed,
  count,
  documented,
  executionId,
  instant,
  listOf,
  name,
  optional,
  pageOf,
  paging,
  pipelineName,
  text,
  textWithin,
  titled,
  withExample,
} from '../../protocol/messages/words.ts';

const status = Type.Enum([...TERMINAL] as TerminalStatus[], {
  title: 'FinalStatus',
  description: 'How the execution ended.',
});
const digest = text(
  'SHA-256 digest in hexadecimal.',
  '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
);

const ARCHIVED_EXAMPLE = {
  id: '01890a5d-ac96-774b-bcce-b302099a8057',
  pipeline: 'order',
  status: 'completed',
  submittedAt: '2026-11-17T09:30:00.000Z',
  endedAt: '2026-11-17T09:30:04.200Z',
  archivedAt: '2026-12-17T10:00:00.000Z',
  key: 'order/17',
  tags: ['eu'],
  place: 'default/2026/11/17/01890a5d-ac96-774b-bcce-b302099a8057',
  digest: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
};

const archived = closed(
  {
    id: executionId,
    pipeline: text('Name of the pipeline.'),
    status,
    submittedAt: documented(instant, 'When it was submitted.'),
    endedAt: documented(instant, 'When it ended.'),
    archivedAt: documented(instant, 'When it was archived.'),
    key: optional(text('Idempotency key of its submit.')),
    tags: listOf(Type.String(), 'Labels of the execution.'),
    parent: optional(executionId, 'Execution that spawned it.'),
    redriveOf: optional(executionId, 'Execution that it re-drives.'),
    place: text('Where its documents are in the archive.'),
    digest: documented(digest, 'SHA-256 digest of the manifest that lists its documents.'),
    erased: optional(erasure),
  },
  titled('ArchivedExecution', ARCHIVED_EXAMPLE),
);

export type ArchivedMessage = Static<typeof archived>;

const archiveQuery = closed({
  pipeline: optional(pipelineName, 'Only this pipeline.'),
  status: optional(status, 'Only executions that ended like this.'),
  tag: optional(name, 'Only executions with this tag.', 'eu'),
  text: optional(
    textWithin(1, 256, 'Only executions whose key contains all these words.', 'order 17'),
  ),
  from: optional(instant, 'Only executions that ended at this time or later.'),
  to: optional(instant, 'Only executions that ended before this time.'),
  ...paging(
    Type.String({
      pattern: '^[0-9]{1,15}:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$',
      examples: ['1794907804200:01890a5d-ac96-774b-bcce-b302099a8057'],
    }),
  ),
});

const archivedInFull = closed(
  {
    ...archived.properties,
    documents: listOf(
      closed({
        name: text('Name of the document in the archive.'),
        type: text('Media type.'),
        bytes: documented(count, 'Size in bytes.'),
        sha256: digest,
        title: optional(text('Name that the code gave to an attachment.')),
      }),
      'Documents of the execution.',
    ),
  },
  titled('ArchivedExecutionInFull', {
    ...ARCHIVED_EXAMPLE,
    documents: [
      {
        ...{ name: 'history.json', type: 'application/json', bytes: 1_840 },
        sha256: '60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752',
      },
    ],
  }),
);

export type ArchivedInFullMessage = Static<typeof archivedInFull>;

const verified = Type.Union(
  [
    closed({
      kind: Type.Literal('intact', { description: 'All documents match.' }),
      documents: documented(count, 'Number of documents that were read.'),
    }),
    closed({
      kind: Type.Literal('erased', {
        description: 'The values were erased. The digests of all documents are intact.',
      }),
      documents: documented(count, 'Number of documents that were read.'),
    }),
    closed({
      kind: Type.Literal('damaged', { description: 'At least one document does not match.' }),
      damages: listOf(
        closed({
          document: text('Name of the document.'),
          why: choice(
            ['missing', 'changed', 'not-erased'],
            'The damage. `not-erased`: it still has values of an erased execution.',
          ),
        }),
        'The documents that do not match.',
      ),
    }),
  ],
  { examples: [{ kind: 'intact', documents: 3 }] },
);

export type VerifiedMessage = Static<typeof verified>;

const archiveRun = closed(
  {
    due: documented(count, 'Number of executions in this page whose retention is over.'),
    archived: documented(count, 'Number of executions that were written to the archive.'),
    removed: documented(count, 'Number of executions whose rows were deleted.'),
    failed: documented(count, 'Number of executions that could not be archived.'),
    cursor: optional(text('Pass it to run the next page. Absent on the last page.')),
  },
  withExample({ due: 100, archived: 100, removed: 100, failed: 0 }),
);

export type ArchiveRunMessage = Static<typeof archiveRun>;

const NO_ARCHIVE = {
  409: {
    what: 'This coordinator has no archive, or the archived documents are damaged.',
    codes: ['archive-missing', 'archive-damaged'],
  },
  503: {
    what: 'The coordinator cannot reach the archive or its store.',
    codes: ['archive-unavailable', 'store-unavailable'],
  },
} as const;

export const archiveOperations = operationsOf('Archive', {
  listArchive: {
    at: 'GET /v1/archive',
    summary: 'List archived executions',
    description:
      "Returns the project's archived executions that match all filters, the last ended first.",
    allows: READERS,
    query: archiveQuery,
    responses: { 200: { what: 'One page of archived executions.', schema: pageOf(archived) } },
  },
  readArchived: {
    at: 'GET /v1/archive/:id',
    summary: 'Read an archived execution',
    description: 'Returns the index entry of one archived execution and the list of its documents.',
    allows: READERS,
    params: idParams,
    responses: { 200: { what: 'The archived execution.', schema: archivedInFull }, ...NO_ARCHIVE },
  },
  readArchivedDocument: {
    at: 'GET /v1/archive/:id/document',
    summary: 'Download a document of an archived execution',
    description:
      'Returns the content of one document as a download of type `application/octet-stream`.',
    allows: READERS,
    params: idParams,
    query: closed({
      name: documented(name, 'Name of the document in the archive.', 'history.json'),
    }),
    responses: {
      200: { what: 'The bytes of the document.', text: DOWNLOAD },
      ...NO_ARCHIVE,
      410: { what: 'The values of the execution were erased.', codes: ['value-erased'] },
    },
  },
  verifyArchived: {
    at: 'GET /v1/archive/:id/verification',
    summary: 'Verify an archived execution',
    description: 'Reads every document of one archived execution and compares it with its digest.',
    allows: ['operate'],
    params: idParams,
    responses: {
      200: { what: 'The result of the verification.', schema: verified },
      ...NO_ARCHIVE,
    },
  },
  runArchive: {
    at: 'POST /v1/archive/run',
    summary: 'Archive ended executions now',
    description:
      "Archives one page of the project's ended executions whose retention is over, then deletes their rows. If the coordinator has retention but no archive, it only deletes. Writes an audit record. Repeating it is safe.",
    allows: ['operate'],
    body: closed(
      {
        ...paging(executionId),
        limit: optional(
          Type.Integer({
            minimum: 1,
            maximum: 1_000,
            default: 500,
            description: 'Largest number of executions in the page. Default: 500.',
          }),
        ),
      },
      withExample({ limit: 500 }),
    ),
    responses: { 200: { what: 'The counts of the page.', schema: archiveRun }, ...NO_ARCHIVE },
  },
});
