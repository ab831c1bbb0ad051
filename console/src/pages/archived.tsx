// One archived execution, read from its documents: what it was, what it did, what came of it, and whether the
// documents are still what was written.

import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useMemo, useState } from 'react';
import type {
  ArchivedInFullMessage,
  VerifiedMessage,
} from '../../../src/protocol/messages/archive.ts';
import type { HistoryMessage } from '../../../src/protocol/messages/execution.ts';
import { callBytes, pathWith, type Refused } from '../api/call.ts';
import { useAct, useCaller, useRead } from '../api/reads.ts';
import { durationText, plural } from '../model/words.ts';
import { JsonView } from '../parts/json.tsx';
import { Copy, Status, Time } from '../parts/marks.tsx';
import { Empty, PageHead, ProblemNote, Shown } from '../parts/notes.tsx';
import { Link } from '../router.tsx';
import { Documents } from './archived-documents.tsx';
import { ReportView } from './archived-report.tsx';
import { type ArchivedStep, Steps } from './archived-steps.tsx';
import { HistoryTable } from './execution-history.tsx';
import { TimelineView } from './execution-timeline.tsx';

export function ArchivedPage({ id }: { readonly id: string }): ReactNode {
  const read = useRead<ArchivedInFullMessage>(`/v1/archive/${id}`);
  const { data: caller } = useCaller();
  const { data: archived } = read;
  return (
    <>
      <p className="crumb">
        <Link to="/archive">Archive</Link> / <span className="mono">{id}</span>
      </p>
      <Shown of={read}>
        {archived === undefined ? null : (
          <>
            <PageHead
              title={archived.pipeline}
              about={<Status status={archived.status} holds={['archived']} />}
            >
              {caller?.roles.includes('operate') === true ? <Verify id={id} /> : null}
            </PageHead>
            <Facts archived={archived} />
            <Parts archived={archived} />
          </>
        )}
      </Shown>
    </>
  );
}

function Facts({ archived }: { readonly archived: ArchivedInFullMessage }): ReactNode {
  const { submittedAt, endedAt, archivedAt, key, tags, parent, redriveOf, place } = archived;
  const facts: readonly (readonly [string, ReactNode])[] = [
    ['Submitted', <Time key="from" at={submittedAt} />],
    ['Ended', <Time key="to" at={endedAt} />],
    ['Took', durationText(Date.parse(endedAt) - Date.parse(submittedAt))],
    ['Archived', <Time key="at" at={archivedAt} />],
    ...(key === undefined ? [] : [['Key', key] as const]),
    ...(tags.length === 0 ? [] : [['Tags', tags.join(', ')] as const]),
    ...(parent === undefined ? [] : [['Spawned by', <Other key="p" id={parent} />] as const]),
    ...(redriveOf === undefined
      ? []
      : [['Drives again', <Other key="r" id={redriveOf} />] as const]),
    [
      'Place',
      <span key="place" className="mono digest">
        {place}
      </span>,
    ],
  ];
  return (
    <dl className="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
      <div className="facts-copy">
        <dt className="hidden">Id</dt>
        <dd>
          <Copy text={archived.id} what="id" />
        </dd>
      </div>
    </dl>
  );
}

/** What made it is gone before it. */
function Other({ id }: { readonly id: string }): ReactNode {
  return (
    <Link className="ident" to={`/archive/${id}`}>
      {id.slice(0, 8)}…{id.slice(-6)}
    </Link>
  );
}

function Verify({ id }: { readonly id: string }): ReactNode {
  const act = useAct<VerifiedMessage>();
  const { data } = act;
  return (
    <>
      <button
        type="button"
        disabled={act.isPending}
        onClick={() => act.mutate({ path: `/v1/archive/${id}/verification`, method: 'GET' })}
      >
        {act.isPending ? 'Reading all of it …' : 'Verify'}
      </button>
      {data === undefined ? null : (
        <p className={data.kind === 'intact' ? 'good' : 'bad'} role="status">
          {data.kind === 'intact'
            ? `${plural(data.documents, 'document')}, each as it was written`
            : `Damaged: ${data.damages.map(({ document, why }) => `${document} is ${why}`).join(', ')}. Restore it from a copy of the archive.`}
        </p>
      )}
      <ProblemNote error={act.error} />
    </>
  );
}

/** The text of one document; it never changes. */
export function useDocument(
  id: string,
  name: string,
): {
  readonly text: string | undefined;
  readonly error: Refused | null;
  readonly isPending: boolean;
} {
  const path = pathWith(`/v1/archive/${id}/document`, { name });
  const read = useQuery<string, Refused>({
    queryKey: ['document', path],
    queryFn: async ({ signal }) => (await callBytes(path, { signal })).text(),
    staleTime: Number.POSITIVE_INFINITY,
  });
  return { text: read.data, error: read.error, isPending: read.isPending };
}

const TABS = ['Report', 'Record', 'Steps', 'History', 'Documents'] as const;

type Tab = (typeof TABS)[number];

function Parts({ archived }: { readonly archived: ArchivedInFullMessage }): ReactNode {
  const [tab, setTab] = useState<Tab>('Report');
  const { id, documents } = archived;
  return (
    <section className="card">
      <div className="tabs" role="tablist" aria-label="Parts of the archived execution">
        {TABS.map((name) => (
          <button
            key={name}
            type="button"
            role="tab"
            aria-selected={name === tab}
            onClick={() => setTab(name)}
          >
            {name}
            {name === 'Documents' ? <span className="count">{documents.length}</span> : null}
          </button>
        ))}
      </div>
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
              <TimelineView events={events} />
              <HistoryTable events={events} />
            </>
          )}
        </OfDocument>
      ) : null}
      {tab === 'Documents' ? <Documents archived={archived} /> : null}
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
        <Empty title={`${name} cannot be read as JSON`}>
          <p>Save it from the list of documents, and verify the execution.</p>
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
