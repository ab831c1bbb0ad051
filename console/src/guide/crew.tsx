// The two worker processes of the demo while one is frozen: their draining leases, and the refused write.

import type { ReactNode } from 'react';
import type { DemoMessage } from '../../../src/protocol/messages/coordinator.ts';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import type { SessionMessage } from '../../../src/protocol/messages/sessions.ts';
import { itemsOf, usePages, useRead } from '../api/reads.ts';
import type { TourStep } from '../model/tour.ts';
import { durationText, shownFence } from '../model/words.ts';
import { useNow } from '../parts/now.ts';
import { Link } from '../router.tsx';

const POLL_MS = 1_000;
const TICK_MS = 200;

interface CrewProps {
  readonly demo: DemoMessage | undefined;
  readonly freeze: TourStep | undefined;
}

export function Crew({ demo, freeze }: CrewProps): ReactNode {
  const isBegun = freeze?.subSteps.some(({ isDone }) => isDone) === true;
  if (!isBegun || demo === undefined) return null;
  return <ShownCrew demo={demo} freeze={freeze} />;
}

interface ShownProps {
  readonly demo: DemoMessage;
  readonly freeze: TourStep;
}

function ShownCrew({ demo, freeze }: ShownProps): ReactNode {
  const read = usePages(requestTo('GET /v1/sessions', { limit: 200 }), { everyMs: POLL_MS });
  const now = useNow(TICK_MS);
  const sinceMs = Math.max(0, now - read.dataUpdatedAt);
  const sessions = itemsOf(read);
  return (
    <div className="crew">
      {demo.workers.map((worker) => (
        <WorkerCard
          key={worker.name}
          worker={worker}
          session={sessions.findLast(({ owner }) => owner === worker.name)}
          sinceMs={sinceMs}
        />
      ))}
      <Stamp freeze={freeze} />
    </div>
  );
}

interface WorkerCardProps {
  readonly worker: DemoMessage['workers'][number];
  readonly session: SessionMessage | undefined;
  readonly sinceMs: number;
}

const LOW = 0.25;

function WorkerCard({ worker, session, sinceMs }: WorkerCardProps): ReactNode {
  const { name, pid, isFrozen } = worker;
  const left = session === undefined ? 0 : session.slackMs - sinceMs;
  const whole = session === undefined ? 1 : Math.max(1, session.ttlMs - session.graceMs);
  const part = Math.max(0, Math.min(1, left / whole));
  return (
    <div className={isFrozen ? 'card crew-card crew-frozen' : 'card crew-card'}>
      <strong>
        {name} <span className="about">(pid {pid})</span>
      </strong>
      <span className={isFrozen ? 'tone tone-bad' : 'tone tone-good'}>
        {isFrozen ? 'Frozen' : 'Running'}
      </span>
      <div className="slack">
        <span
          className={part < LOW ? 'slack-bar slack-low' : 'slack-bar'}
          style={{ width: `${part * 100}%` }}
        />
      </div>
      <p className="about">{leftText(session, left)}</p>
    </div>
  );
}

function leftText(session: SessionMessage | undefined, left: number): string {
  if (session === undefined || session.state === 'ended') return 'Its lease has ended';
  return left > 0 ? `Lease expires in ${durationText(left)}` : 'Lease expired';
}

function Stamp({ freeze }: { readonly freeze: TourStep }): ReactNode {
  const id = /\/executions\/([0-9a-f-]{36})/.exec(freeze.to ?? '')?.[1];
  const read = useRead(requestTo('GET /v1/refused-writes', { execution: id ?? '' }), {
    ...{ isEnabled: id !== undefined && freeze.isDone },
  });
  const [write] = read.data?.items ?? [];
  if (!freeze.isDone || freeze.to === undefined || write?.newest === undefined) return null;
  return (
    <Link to={freeze.to} className="stamp">
      Late write refused ({shownFence(write.fence)} &lt; {shownFence(write.newest)})
    </Link>
  );
}
