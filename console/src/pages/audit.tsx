// The audit log: operator actions with their targets and reasons.

import type { ReactNode } from 'react';
import type { AuditMessage } from '../../../src/features/audit/messages.ts';
import { AUDIT_ACTIONS } from '../../../src/features/audit/model.ts';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import { withTyped } from '../api/call.ts';
import { usePages } from '../api/reads.ts';
import { changeText } from '../model/changes.ts';
import { actionText, actorText, shortId } from '../model/words.ts';
import { Dialog, DialogButton } from '../parts/dialog.tsx';
import { JsonView } from '../parts/json.tsx';
import { Time } from '../parts/marks.tsx';
import { NameFilter } from '../parts/name-filter.tsx';
import { Empty, PageHead } from '../parts/notes.tsx';
import { PageList } from '../parts/page-list.tsx';
import type { Column } from '../parts/table.tsx';
import { TimeField } from '../parts/time-field.tsx';
import { goWith, Link, useLocation } from '../router.tsx';

const COLUMNS: readonly Column<AuditMessage>[] = [
  { title: 'Time', width: '7.5rem', cell: ({ at }) => <Time at={at} /> },
  { title: 'Actor', width: 'minmax(7rem, 1fr)', cell: ({ actor }) => actorText(actor) },
  {
    title: 'Action',
    width: 'minmax(8.5rem, 0.9fr)',
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
  if (kind === 'rollout') {
    return <Link to={`/releases/${encodeURIComponent(id)}`}>{id}</Link>;
  }
  return (
    <Link to={`/audit?${new URLSearchParams({ target: kind, targetId: id })}`} title={id}>
      {kind} {id.length > 20 ? shortId(id) : id}
    </Link>
  );
}

/** In one line; all of it on demand. */
function Change({ action, before, after }: AuditMessage): ReactNode {
  const text = changeText(before, after);
  if (text === '') return null;
  return (
    <DialogButton label={text} className="quiet mono change">
      {(onClose) => (
        <Dialog title={`${actionText(action)}: change`} onClose={onClose} className="wide">
          <div className="change-sides">
            <div>
              <h3>Before</h3>
              <JsonView label="Before" value={before ?? null} />
            </div>
            <div>
              <h3>After</h3>
              <JsonView label="After" value={after ?? null} />
            </div>
          </div>
          <div className="dialog-actions">
            <button type="button" onClick={onClose}>
              Close
            </button>
          </div>
        </Dialog>
      )}
    </DialogButton>
  );
}

const NO_TARGET = { target: undefined, targetId: undefined };

export function AuditPage(): ReactNode {
  const location = useLocation();
  const of = (name: string): string => location.query.get(name) ?? '';
  const [actor, action, target, targetId] = ['actor', 'action', 'target', 'targetId'].map(of);
  const [from, to] = ['from', 'to'].map(of);
  const list = requestTo('GET /v1/audit', { limit: 200 });
  const pages = usePages(withTyped(list, { actor, action, target, targetId, from, to }));
  return (
    <>
      <PageHead title="Audit log" about="Operator actions, newest first. Append-only.">
        <select
          aria-label="Action"
          value={action}
          onChange={({ target: field }) => goWith(location, { action: field.value })}
        >
          <option value="">Any action</option>
          {AUDIT_ACTIONS.map((each) => (
            <option key={each} value={each}>
              {actionText(each)}
            </option>
          ))}
        </select>
        <NameFilter
          label="Filter by actor"
          name={actor ?? ''}
          onFilter={(name) => goWith(location, { actor: name })}
        />
      </PageHead>
      <div className="filters">
        <div className="search-line">
          <TimeField location={location} name="from" label="From" />
          <TimeField location={location} name="to" label="Before" />
        </div>
      </div>
      {targetId === '' ? null : (
        <p className="about">
          Only {target} <span className="mono">{targetId}</span>{' '}
          <button type="button" className="quiet" onClick={() => goWith(location, NO_TARGET)}>
            Clear filter
          </button>
        </p>
      )}
      <PageList
        label="Audit"
        columns={COLUMNS}
        pages={pages}
        empty={
          <Empty title="No entries">
            <p>
              Operator actions on executions, requests, releases, schedules and keys are recorded
              here.
            </p>
          </Empty>
        }
      />
    </>
  );
}
