// Schedules, with their last and next runs.

import type { ReactNode } from 'react';
import type { ScheduleMessage } from '../../../src/features/schedules/messages.ts';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import { itemsOf, useMay, usePages, useRead } from '../api/reads.ts';
import { durationText, plural } from '../model/words.ts';
import { DialogButton } from '../parts/dialog.tsx';
import { ExecutionLink, Status, Time, Until } from '../parts/marks.tsx';
import { Empty, More, PageHead, Shown } from '../parts/notes.tsx';
import { Link } from '../router.tsx';
import { ScheduleDialog } from './schedule-form.tsx';
import { ScheduleOperations } from './schedule-operations.tsx';

export function SchedulesPage(): ReactNode {
  const pages = usePages(requestTo('GET /v1/schedules', { limit: 100 }), { everyMs: 10_000 });
  const items = itemsOf(pages);
  const { operate, submit } = useMay();
  return (
    <>
      <PageHead
        title="Schedules"
        about={pages.data === undefined ? ' ' : plural(items.length, 'schedule')}
      >
        {operate && submit ? (
          <DialogButton label="New schedule…">
            {(onClose) => <ScheduleDialog onClose={onClose} />}
          </DialogButton>
        ) : null}
      </PageHead>
      <Shown
        of={pages}
        isEmpty={pages.data !== undefined && items.length === 0}
        empty={<NoSchedules />}
      >
        <ul className="schedules">
          {items.map((each) => (
            <ScheduleCard key={each.id} schedule={each} />
          ))}
        </ul>
        <More pages={pages} />
      </Shown>
    </>
  );
}

function NoSchedules(): ReactNode {
  return (
    <Empty title="No schedules">
      <p>
        A schedule submits a pipeline at an interval or by cron. Create one above, or in code:{' '}
        <code>client.schedules.put('nightly', {"{ cron: '0 3 * * *', pipeline: 'report' }"})</code>.
      </p>
    </Empty>
  );
}

function ScheduleCard({ schedule }: { readonly schedule: ScheduleMessage }): ReactNode {
  const { id, when, target, paused, nextTimes, overlap, catchUp } = schedule;
  const { jitterMs, pauseOnFailure } = schedule;
  return (
    <li className="card schedule">
      <div className="section-head">
        <h2>{id}</h2>
        {paused ? <Status status="paused" /> : null}
        <span className="mono">
          {'every' in when
            ? `Every ${durationText(when.every)}`
            : `${when.cron} (${when.timeZone})`}
        </span>
        {'pipeline' in target ? (
          <Link to={`/executions?pipeline=${encodeURIComponent(target.pipeline)}`}>
            {target.pipeline}
          </Link>
        ) : (
          <span>Template {target.template}</span>
        )}
        <span className="about">
          Overlap: {overlap} · catch-up: {catchUp}
          {jitterMs === undefined ? null : ` · jitter: up to ${durationText(jitterMs)}`}
          {pauseOnFailure ? ' · pauses after a failure' : null}
        </span>
        <ScheduleOperations schedule={schedule} />
      </div>
      <div className="schedule-times">
        <section aria-label={`Next runs of ${id}`}>
          <h3>Next runs</h3>
          {paused ? <p className="about">None until it is resumed</p> : null}
          <ol>
            {nextTimes.map((at, index) => (
              <li key={at}>
                <Time at={at} />
                {index === 0 ? (
                  <span className="about">
                    <Until at={at} />
                  </span>
                ) : null}
              </li>
            ))}
          </ol>
        </section>
        <LastRuns id={id} />
      </div>
    </li>
  );
}

/** Marks the executions of a schedule. */
const SCHEDULE = 'schedule';
const RUNS = 5;

function LastRuns({ id }: { readonly id: string }): ReactNode {
  const where = `${SCHEDULE}=${JSON.stringify(id)}`;
  const runs = useRead(requestTo('GET /v1/executions', { where: [where], limit: RUNS }));
  const items = runs.data?.items ?? [];
  return (
    <section aria-label={`Last runs of ${id}`}>
      <h3>
        <Link to={`/executions?${new URLSearchParams({ where })}`}>Last runs</Link>
      </h3>
      {runs.data !== undefined && items.length === 0 ? <p className="about">Never run</p> : null}
      <ol>
        {items.map((run) => (
          <li key={run.id}>
            <Time at={run.submittedAt} /> <Status status={run.status} />{' '}
            <ExecutionLink id={run.id} />
          </li>
        ))}
      </ol>
    </section>
  );
}
