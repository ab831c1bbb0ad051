// One archived execution, read from its documents: what it was, what it did, what came of it, and whether the
// documents are still what was written.

import type { ReactNode } from 'react';
import type {
  ArchivedInFullMessage,
  VerifiedMessage,
} from '../../../src/features/retention/messages.ts';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import { useCaller, useOperation, useRead } from '../api/reads.ts';
import { durationText, plural } from '../model/words.ts';
import { type Fact, FactList } from '../parts/facts.tsx';
import { Status, Time } from '../parts/marks.tsx';
import { PageHead, ProblemNote, Shown } from '../parts/notes.tsx';
import { Link } from '../router.tsx';
import { ArchivedParts } from './archived-parts.tsx';

export function ArchivedPage({ id }: { readonly id: string }): ReactNode {
  const read = useRead(requestTo('GET /v1/archive/:id', { id }));
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
            <ArchivedParts archived={archived} />
          </>
        )}
      </Shown>
    </>
  );
}

function Facts({ archived }: { readonly archived: ArchivedInFullMessage }): ReactNode {
  const { submittedAt, endedAt, archivedAt, key, tags, parent, redriveOf, place } = archived;
  const facts: readonly Fact[] = [
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
  return <FactList facts={facts} id={archived.id} />;
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
  const operation = useOperation<VerifiedMessage>();
  const { data } = operation;
  return (
    <>
      <button
        type="button"
        disabled={operation.isPending}
        onClick={() => operation.mutate(requestTo('GET /v1/archive/:id/verification', { id }))}
      >
        {operation.isPending ? 'Reading all of it …' : 'Verify'}
      </button>
      {data === undefined ? null : (
        <p className={data.kind === 'intact' ? 'good' : 'bad'} role="status">
          {data.kind === 'intact'
            ? `${plural(data.documents, 'document')}, each as it was written`
            : `Damaged: ${data.damages.map(({ document, why }) => `${document} is ${why}`).join(', ')}. Restore it from a copy of the archive.`}
        </p>
      )}
      <ProblemNote error={operation.error} />
    </>
  );
}
