// Schedules, with their last and next runs.

import type { ReactNode } from 'react';
import type { ScheduleMessage } from '../../../src/features/schedules/messages.ts';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import { itemsOf, useMay, usePages } from '../api/reads.ts';
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
        <ul className="causes">
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
  const { id, when, target, paused, nextTimes, firedAt, lastExecution, overlap, catchUp } =
    schedule;
  const { operate: mayOperate } = useMay();
  const [next] = nextTimes;
  return (
    <li className="card cause">
      <strong>{id}</strong>
      <span className="mono">
        {'every' in when ? `Every ${durationText(when.every)}` : `${when.cron} (${when.timeZone})`}
      </span>
      {'pipeline' in target ? (
        <Link to={`/executions?pipeline=${encodeURIComponent(target.pipeline)}`}>
          {target.pipeline}
        </Link>
      ) : (
        <span>Template {target.template}</span>
      )}
      {paused ? <Status status="paused" /> : null}
      {next === undefined ? null : (
        <details>
          <summary>
            Next <Until at={next} />
          </summary>
          <ol>
            {nextTimes.map((at) => (
              <li key={at}>
                <Time at={at} />
              </li>
            ))}
          </ol>
        </details>
      )}
      <span className="about">
        {firedAt === undefined ? (
          'Never run'
        ) : (
          <>
            Last run <Time at={firedAt} />
          </>
        )}{' '}
        · overlap: {overlap} · catch-up: {catchUp}
      </span>
      {lastExecution === undefined ? null : <ExecutionLink id={lastExecution} />}
      <span className="actions">
        {'pipeline' in target ? (
          <StartButton label="Run now…" pipeline={target.pipeline} input={schedule.input} />
        ) : null}
        {mayOperate ? <PauseSchedule id={id} isPaused={paused} /> : null}
      </span>
    </li>
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
