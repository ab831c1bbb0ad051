// Schedules, with their last and next runs.

import type { ReactNode } from 'react';
import type { ScheduleMessage } from '../../../src/features/schedules/messages.ts';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import { itemsOf, useMay, usePages, useRead } from '../api/reads.ts';
import { durationText, plural } from '../model/words.ts';
import { OperationButton } from '../parts/dialog.tsx';
import { ExecutionLink, Status, Time, Until } from '../parts/marks.tsx';
import { Empty, More, PageHead, Shown } from '../parts/notes.tsx';
import { Link } from '../router.tsx';
import { StartButton } from './start-dialog.tsx';

export function SchedulesPage(): ReactNode {
  const pages = usePages(requestTo('GET /v1/schedules', { limit: 100 }), { everyMs: 10_000 });
  const items = itemsOf(pages);
  return (
    <>
      <PageHead
        title="Schedules"
        about={pages.data === undefined ? ' ' : plural(items.length, 'schedule')}
      />
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
        A schedule submits a pipeline at an interval or by cron. Create one with{' '}
        <code>client.schedules.put('nightly', {"{ cron: '0 3 * * *', pipeline: 'report' }"})</code>.
      </p>
    </Empty>
  );
}

function ScheduleCard({ schedule }: { readonly schedule: ScheduleMessage }): ReactNode {
  const { id, when, target, paused, nextTimes, overlap, catchUp } = schedule;
  const { operate: mayOperate } = useMay();
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
        </span>
        <span className="actions">
          <RunNow schedule={schedule} />
          {mayOperate ? <PauseSchedule id={id} isPaused={paused} /> : null}
        </span>
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

/** Marks the executions of a schedule; each fire sets it too. */
const SCHEDULE = 'schedule';
const RUNS = 5;

function RunNow({ schedule }: { readonly schedule: ScheduleMessage }): ReactNode {
  const { id, target, input, options } = schedule;
  const attributes = { ...options.attributes, [SCHEDULE]: id };
  const template = 'template' in target ? { id: target.template, ...versionOf(target) } : undefined;
  return (
    <StartButton
      label="Run now…"
      title={`Run ${id} now`}
      {...('pipeline' in target ? { pipeline: target.pipeline } : {})}
      input={input}
      given={{ ...options, attributes, ...(template && { template }) }}
    />
  );
}

function versionOf({ version }: { readonly version?: number }): { readonly version?: number } {
  return version === undefined ? {} : { version };
}

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

function PauseSchedule({
  id,
  isPaused,
}: {
  readonly id: string;
  readonly isPaused: boolean;
}): ReactNode {
  const verb = isPaused ? 'resume' : 'pause';
  return (
    <OperationButton
      label={isPaused ? 'Resume…' : 'Pause…'}
      ask={{
        title: `${isPaused ? 'Resume' : 'Pause'} ${id}`,
        sentence: isPaused ? 'Runs resume at the next scheduled time.' : 'No runs until resumed.',
        verb: isPaused ? 'Resume schedule' : 'Pause schedule',
        done: isPaused ? 'Schedule resumed' : 'Schedule paused',
        undo: requestTo(`POST /v1/schedules/:id/${isPaused ? 'pause' : 'resume'}`, { id }),
        operation: () => requestTo(`POST /v1/schedules/:id/${verb}`, { id }),
      }}
    />
  );
}
