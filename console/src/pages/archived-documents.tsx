// The documents of an archived execution, each with a download button.

import { type ReactNode, useState } from 'react';
import type { ArchivedInFullMessage } from '../../../src/features/retention/messages.ts';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import { callBytes } from '../api/call.ts';
import { bytesText } from '../model/words.ts';
import { ProblemNote } from '../parts/notes.tsx';
import { type Column, Table } from '../parts/table.tsx';

type Document = ArchivedInFullMessage['documents'][number];

const COLUMNS: readonly Column<Document>[] = [
  {
    title: 'Document',
    width: '15rem',
    cell: ({ name, title }) => (
      <span className="mono" title={title ?? name}>
        {title ?? name}
      </span>
    ),
  },
  { title: 'Kind', width: '8rem', cell: ({ name }) => kindOf(name) },
  { title: 'Type', width: 'minmax(9rem, 1fr)', cell: ({ type }) => type },
  { title: 'Size', width: '6.5rem', isNumber: true, cell: ({ bytes }) => bytesText(bytes) },
  {
    title: 'SHA-256',
    width: '9rem',
    cell: ({ sha256 }) => (
      <span className="mono" title={sha256}>
        {sha256.slice(0, 12)}…
      </span>
    ),
  },
];

function kindOf(name: string): string {
  if (name.startsWith('attachments/')) return 'Attachment';
  return name.startsWith('payloads/') ? 'Value' : 'Record';
}

export function Documents({ archived }: { readonly archived: ArchivedInFullMessage }): ReactNode {
  const { id, documents } = archived;
  const [problem, setProblem] = useState<unknown>();
  const start = (document: Document): void => {
    setProblem(undefined);
    download(id, document).catch(setProblem);
  };
  const operations: Column<Document> = {
    title: 'Actions',
    width: '6rem',
    cell: (document) => (
      <button
        type="button"
        className="quiet"
        aria-label={`Download ${document.title ?? document.name}`}
        onClick={() => start(document)}
      >
        Download
      </button>
    ),
  };
  return (
    <>
      <ProblemNote error={problem} />
      <Table
        label="Documents"
        columns={[...COLUMNS, operations]}
        items={documents}
        keyOf={({ name }) => name}
      />
    </>
  );
}

/** Fetches the document, because a plain link cannot send the header that names the project. */
async function download(id: string, { name, title }: Document): Promise<void> {
  const blob = await callBytes(requestTo('GET /v1/archive/:id/document', { id, name }));
  const url = URL.createObjectURL(blob);
  const link = document.createElement('a');
  link.href = url;
  link.download = (title ?? name).split('/').at(-1) ?? 'document';
  link.click();
  URL.revokeObjectURL(url);
}
