// The tabs of an archived execution. Each one reads its document from the archive.

import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useMemo, useState } from 'react';
import type { ArchivedInFullMessage } from '../../../src/features/retention/messages.ts';
import type { HistoryMessage } from '../../../src/protocol/messages/execution.ts';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import { callBytes, pathOf, type Refused } from '../api/call.ts';
import { JsonView } from '../parts/json.tsx';
import { Empty, Shown } from '../parts/notes.tsx';
import { Tabs } from '../parts/tabs.tsx';
import { Documents } from './archived-documents.tsx';
import { ReportView } from './archived-report.tsx';
import { type ArchivedStep, Steps } from './archived-steps.tsx';
import { HistoryTable } from './execution-history.tsx';
import { WaterfallView } from './execution-waterfall.tsx';

/** Read once: documents never change. */
function useDocument(
  id: string,
  name: string,
): {
  readonly text: string | undefined;
  readonly error: Refused | null;
  readonly isPending: boolean;
} {
  const request = requestTo('GET /v1/archive/:id/document', { id, name });
  const read = useQuery<string, Refused>({
    queryKey: ['document', pathOf(request)],
    queryFn: async ({ signal }) => (await callBytes(request, { signal })).text(),
    staleTime: Number.POSITIVE_INFINITY,
  });
  return { text: read.data, error: read.error, isPending: read.isPending };
}

const TABS = ['Report', 'Record', 'Steps', 'History', 'Documents'] as const;

type Tab = (typeof TABS)[number];

export function ArchivedParts({
  archived,
}: {
  readonly archived: ArchivedInFullMessage;
}): ReactNode {
  const [tab, setTab] = useState<Tab>('Report');
  const { id, documents } = archived;
  return (
    <section className="card">
      <Tabs
        label="Archived execution details"
        names={TABS}
        chosen={tab}
        onChoose={setTab}
        beside={{ Documents: <span className="count">{documents.length}</span> }}
      >
        {tab === 'Report' ? <Report id={id} /> : null}
        {tab === 'Record' ? (
          <OfDocument<object> id={id} name="record.json">
            {(record) => <JsonView value={record} label="Record" />}
          </OfDocument>
        ) : null}
        {tab === 'Steps' ? (
          <OfDocument<readonly ArchivedStep[]> id={id} name="steps.json">
            {(steps) => <Steps steps={steps} />}
          </OfDocument>
        ) : null}
        {tab === 'History' ? (
          <OfDocument<readonly HistoryMessage[]> id={id} name="history.json">
            {(events) => (
              <>
                <WaterfallView events={events} />
                <HistoryTable events={events} />
              </>
            )}
          </OfDocument>
        ) : null}
        {tab === 'Documents' ? <Documents archived={archived} /> : null}
      </Tabs>
    </section>
  );
}

function Report({ id }: { readonly id: string }): ReactNode {
  const read = useDocument(id, 'report.md');
  return (
    <Shown of={read}>
      <ReportView text={read.text ?? ''} />
    </Shown>
  );
}

interface OfDocumentProps<Content> {
  readonly id: string;
  readonly name: string;
  readonly children: (content: Content) => ReactNode;
}

function OfDocument<Content>({ id, name, children }: OfDocumentProps<Content>): ReactNode {
  const read = useDocument(id, name);
  const content = useMemo(() => parsed(read.text), [read.text]);
  return (
    <Shown of={read}>
      {content === undefined ? (
        <Empty title={`${name} is not valid JSON`}>
          <p>Download it under Documents and run Verify.</p>
        </Empty>
      ) : (
        children(content as Content)
      )}
    </Shown>
  );
}

function parsed(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : (JSON.parse(text) as unknown);
  } catch {
    return undefined;
  }
}
