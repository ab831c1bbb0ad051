// Dead letters by cause.

import type { ReactNode } from 'react';
import type { OverviewMessage } from '../../../src/features/overview/messages.ts';
import type { DeadLetterMessage } from '../../../src/features/repair/messages.ts';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import { useOverview } from '../api/overview.ts';
import { itemsOf, useMay, usePages, useRead } from '../api/reads.ts';
import { type Cause, causesOf } from '../model/causes.ts';
import { timeText } from '../model/time-text.ts';
import { callText, countText, plural } from '../model/words.ts';
import { BulkButton } from '../parts/bulk.tsx';
import { LongTable } from '../parts/long-table.tsx';
import { ExecutionLink, Status, Time } from '../parts/marks.tsx';
import { Empty, PageHead, Shown } from '../parts/notes.tsx';
import { ShareBar } from '../parts/share-bar.tsx';
import type { Column } from '../parts/table.tsx';
import { goWith, type PageLocation, useLocation } from '../router.tsx';

export function DeadLettersPage(): ReactNode {
  const location = useLocation();
  const groups = useRead(requestTo('GET /v1/dead-letters/groups', { open: true }));
  // Its figures stand in the rows. If they came later, they would move them.
  const { isPending: isCounting } = useOverview();
  const found = causesOf(groups.data?.items ?? []);
  const total = found.reduce((sum, { count }) => sum + count, 0);
  return (
    <>
      <PageHead
        title="Dead letters"
        about={
          groups.data === undefined
            ? ' '
            : `${plural(total, 'dead letter')}, ${plural(found.length, 'cause')}`
        }
      />
      <Shown
        of={{ error: groups.error, isPending: groups.isPending || isCounting }}
        isEmpty={groups.data !== undefined && found.length === 0}
        empty={<NoLetters />}
      >
        <Groups groups={found} location={location} />
      </Shown>
      {groups.isPending || isCounting ? null : <Letters location={location} />}
    </>
  );
}

function NoLetters(): ReactNode {
  return (
    <Empty title="No dead letters">
      <p>
        Executions that failed permanently or could not be compensated appear here, grouped by
        cause.
      </p>
    </Empty>
  );
}

function Groups({
  groups,
  location,
}: {
  readonly groups: readonly Cause[];
  readonly location: PageLocation;
}): ReactNode {
  const { operate: mayOperate } = useMay();
  const { data: overview } = useOverview();
  const countedOf = ({ pipeline, code }: Cause) =>
    overview?.deadLetters.causes.filter((each) => each.pipeline === pipeline && each.code === code);
  const most = Math.max(1, ...groups.map(({ count }) => count));
  return (
    <ul className="causes">
      {groups.map((cause) => {
        const { pipeline, code, step, steps, count, at, isUndo } = cause;
        const counted = countedOf(cause);
        return (
          <li key={`${pipeline}/${code}/${step ?? ''}`} className="card cause">
            <button
              type="button"
              className="cause-name"
              title={step}
              onClick={() => goWith(location, { pipeline, code, step })}
            >
              <strong>{code}</strong> <span className="about">in</span>{' '}
              {steps > 1
                ? plural(steps, 'step')
                : step === undefined
                  ? 'pipeline code'
                  : callText(step)}
            </button>
            <span>{pipeline}</span>
            <span className="about cause-message">{counted?.[0]?.message}</span>
            <ShareBar part={count / most} severity="bad" label={plural(count, 'dead letter')} />
            <span className="number">{countText(count)}</span>
            <span className="about" title={firstText(counted)}>
              {trendText(counted)}last seen <Time at={at} />
            </span>
            <span className="actions">
              {mayOperate ? (
                <BulkButton
                  action="redrive"
                  {...(isUndo ? { mode: 'compensate' } : {})}
                  label={`${isUndo ? 'Retry' : 'Re-drive'} ${plural(count, isUndo ? 'compensation' : 'dead letter')}…`}
                  filter={{ pipeline, code, ...(step === undefined ? {} : { step }), open: true }}
                />
              ) : null}
            </span>
          </li>
        );
      })}
    </ul>
  );
}

type Counted = OverviewMessage['deadLetters']['causes'];

/** Whether a cause still produces dead letters, or ended before a repair. */
function trendText(counted: Counted | undefined): string {
  if (counted === undefined || counted.length === 0) return '';
  const lastHour = counted.reduce((sum, each) => sum + each.lastHour, 0);
  return `${countText(lastHour)} in the last hour · `;
}

/** When the first of them ended. */
function firstText(counted: Counted | undefined): string | undefined {
  const [first] = (counted ?? []).map(({ firstAt }) => firstAt).toSorted();
  return first && `first seen ${timeText('full', Date.parse(first))}`;
}

const COLUMNS: readonly Column<DeadLetterMessage>[] = [
  {
    title: 'Execution',
    width: '10.5rem',
    cell: ({ execution }) => <ExecutionLink id={execution} />,
  },
  {
    title: 'Pipeline',
    isWide: true,
    width: 'minmax(6rem, 1fr)',
    cell: ({ pipeline }) => <span title={pipeline}>{pipeline}</span>,
  },
  { title: 'Status', width: '7.5rem', cell: ({ status }) => <Status status={status} /> },
  {
    title: 'Cause',
    width: 'minmax(7rem, 1fr)',
    cell: ({ code }) => <span title={code}>{code}</span>,
  },
  {
    title: 'Reason',
    isWide: true,
    width: 'minmax(8rem, 2fr)',
    cell: ({ reason }) => <span title={reason}>{reason}</span>,
  },
  {
    title: 'Attempts',
    isWide: true,
    width: '5rem',
    isNumber: true,
    cell: ({ attempts }) => attempts,
  },
  { title: 'Failed at', isWide: true, width: '7.5rem', cell: ({ at }) => <Time at={at} /> },
  {
    title: 'Re-driven as',
    isWide: true,
    width: '10.5rem',
    cell: ({ redrivenBy }) => (redrivenBy === undefined ? '–' : <ExecutionLink id={redrivenBy} />),
  },
];

function Letters({ location }: { readonly location: PageLocation }): ReactNode {
  const filter = Object.fromEntries(
    ['pipeline', 'code', 'step'].map((name) => [name, location.query.get(name) ?? undefined]),
  );
  const isAll = location.query.get('all') === 'true';
  const request = requestTo('GET /v1/dead-letters', {
    ...filter,
    open: isAll ? undefined : true,
    limit: 200,
  });
  const pages = usePages(request);
  const items = itemsOf(pages);
  const isFiltered = Object.values(filter).some((each) => each !== undefined);
  return (
    <section aria-label="Dead letters">
      <header className="section-head">
        <h2>Dead letters{isFiltered ? `: ${filter['code'] ?? filter['pipeline']}` : ''}</h2>
        <label className={isAll ? 'chip chip-on' : 'chip'}>
          <input
            type="checkbox"
            checked={isAll}
            onChange={() => goWith(location, { all: isAll ? undefined : 'true' })}
          />
          Include re-driven
        </label>
        {isFiltered ? (
          <button
            type="button"
            className="quiet"
            onClick={() =>
              goWith(location, { pipeline: undefined, code: undefined, step: undefined })
            }
          >
            Clear filter
          </button>
        ) : null}
      </header>
      <Shown
        of={pages}
        isEmpty={pages.data !== undefined && items.length === 0}
        empty={<p className="about">No dead letters</p>}
      >
        <LongTable
          label="Dead letters"
          columns={COLUMNS}
          items={items}
          keyOf={({ execution }) => execution}
          pages={pages}
        />
      </Shown>
    </section>
  );
}
