// The audit log: operator actions with their targets and reasons.

import type { ReactNode } from 'react';
import type { AuditMessage } from '../../../src/features/audit/messages.ts';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import { usePages } from '../api/reads.ts';
import { changeText } from '../model/changes.ts';
import { actionText, actorText, shortId } from '../model/words.ts';
import { Time } from '../parts/marks.tsx';
import { NameFilter } from '../parts/name-filter.tsx';
import { Empty, PageHead } from '../parts/notes.tsx';
import { PageList } from '../parts/page-list.tsx';
import type { Column } from '../parts/table.tsx';
import { goWith, Link, useLocation } from '../router.tsx';

const COLUMNS: readonly Column<AuditMessage>[] = [
  { title: 'Time', width: '7.5rem', cell: ({ at }) => <Time at={at} /> },
  { title: 'Actor', width: 'minmax(7rem, 1fr)', cell: ({ actor }) => actorText(actor) },
  {
    title: 'Action',
    width: 'minmax(7rem, 0.8fr)',
    cell: ({ action }) => <strong>{actionText(action)}</strong>,
  },
  { title: 'Target', width: 'minmax(10rem, 1.2fr)', cell: ({ target }) => <Target {...target} /> },
  {
    title: 'Reason',
    isWide: true,
    width: 'minmax(8rem, 2fr)',
    cell: ({ reason }) => <span title={reason}>{reason}</span>,
  },
  {
    title: 'Change',
    isWide: true,
    width: 'minmax(9rem, 2fr)',
    cell: (record) => <Change {...record} />,
  },
];

function Target({ kind, id }: AuditMessage['target']): ReactNode {
  if (kind === 'execution') {
    return (
      <Link className="ident" to={`/executions/${id}`} title={id}>
        {shortId(id)}
      </Link>
    );
  }
  return (
    <span title={id}>
      {kind} {id.length > 20 ? shortId(id) : id}
    </span>
  );
}

function Change({ before, after }: Pick<AuditMessage, 'before' | 'after'>): ReactNode {
  const text = changeText(before, after);
  return (
    <span className="mono" title={text}>
      {text}
    </span>
  );
}

export function AuditPage(): ReactNode {
  const location = useLocation();
  const actor = location.query.get('actor') ?? '';
  const pages = usePages(requestTo('GET /v1/audit', { actor, limit: 200 }));
  return (
    <>
      <PageHead title="Audit log" about="Operator actions, newest first. Append-only.">
        <NameFilter
          label="Filter by actor"
          name={actor}
          onFilter={(name) => goWith(location, { actor: name })}
        />
      </PageHead>
      <PageList
        label="Audit"
        columns={COLUMNS}
        pages={pages}
        empty={
          <Empty title="No entries">
            <p>Operator actions on executions, requests, schedules and keys are recorded here.</p>
          </Empty>
        }
      />
    </>
  );
}
