// One archived execution, read from its documents, with a check that they are intact.

import type { ReactNode } from 'react';
import type {
  ArchivedInFullMessage,
  VerifiedMessage,
} from '../../../src/features/retention/messages.ts';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import { useCaller, useOperation, useRead } from '../api/reads.ts';
import { durationText, plural, shortId } from '../model/words.ts';
import { erasedFacts, type Fact, FactList } from '../parts/facts.tsx';
import { Status, Time } from '../parts/marks.tsx';
import { Empty, PageHead, ProblemNote, Shown } from '../parts/notes.tsx';
import { Link } from '../router.tsx';
import { ArchivedParts } from './archived-parts.tsx';
import { EraseButton } from './execution-operations.tsx';

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
              beside={<Status status={archived.status} holds={['archived']} />}
            >
              {caller?.roles.includes('operate') === true ? <Verify id={id} /> : null}
              <EraseButton execution={archived} />
            </PageHead>
            <Facts archived={archived} />
            {archived.erased?.ofArchive !== true ? (
              <ArchivedParts archived={archived} />
            ) : (
              <Empty title="Values were erased">
                <p>
                  The archive has the digests of {plural(archived.documents.length, 'document')}.
                </p>
              </Empty>
            )}
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
    ['Duration', durationText(Date.parse(endedAt) - Date.parse(submittedAt))],
    ['Archived', <Time key="at" at={archivedAt} />],
    ...(key === undefined ? [] : [['Idempotency key', key] as const]),
    ...(tags.length === 0 ? [] : [['Tags', tags.join(', ')] as const]),
    ...(parent === undefined ? [] : [['Parent', <ArchivedLink key="p" id={parent} />] as const]),
    ...(redriveOf === undefined
      ? []
      : [['Re-drive of', <ArchivedLink key="r" id={redriveOf} />] as const]),
    ...erasedFacts(archived.erased),
    [
      'Location',
      <span key="location" className="mono digest">
        {place}
      </span>,
    ],
  ];
  return <FactList facts={facts} id={archived.id} />;
}

/** A parent, or the source of a re-drive: the store removes it before this execution. */
function ArchivedLink({ id }: { readonly id: string }): ReactNode {
  return (
    <Link className="ident" to={`/archive/${id}`}>
      {shortId(id)}
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
        {operation.isPending ? 'Verifying…' : 'Verify'}
      </button>
      {data === undefined ? null : (
        <p className={data.kind === 'damaged' ? 'bad' : 'good'} role="status">
          {data.kind !== 'damaged'
            ? `${plural(data.documents, 'document')} verified, all ${data.kind}`
            : `Damaged: ${data.damages.map(({ document, why }) => `${document} (${why})`).join(', ')}. Restore from a backup.`}
        </p>
      )}
      <ProblemNote error={operation.error} />
    </>
  );
}
