// The tour of the demo: scenes to play, and the latest lines of their story. Only `holdfast dev` has it.

import { type ReactNode, useState } from 'react';
import type { DemoMessage, Scene } from '../../src/protocol/messages/coordinator.ts';
import { requestTo } from '../../src/protocol/messages/request.ts';
import { useCaller, useOperation, useRead } from './api/reads.ts';
import { plural } from './model/words.ts';
import { ExecutionLink, Time } from './parts/marks.tsx';
import { ProblemNote } from './parts/notes.tsx';
import { Link } from './router.tsx';

const CLOSED_KEY = 'holdfast.guide';
const POLL_MS = 1_000;
const SHOWN = 3;

export function Guide(): ReactNode {
  const { data: caller } = useCaller();
  const [isClosed, setClosed] = useState(() => localStorage.getItem(CLOSED_KEY) === 'closed');
  if (caller?.hasDemo !== true) return null;
  const close = (closed: boolean): void => {
    localStorage.setItem(CLOSED_KEY, closed ? 'closed' : 'open');
    setClosed(closed);
  };
  if (isClosed) {
    return (
      <button type="button" className="quiet guide-open" onClick={() => close(false)}>
        Open the tour
      </button>
    );
  }
  return <OpenGuide onClose={() => close(true)} />;
}

function OpenGuide({ onClose }: { readonly onClose: () => void }): ReactNode {
  const { data: demo } = useRead(requestTo('GET /v1/demo'), { everyMs: POLL_MS });
  const open = useRead(requestTo('GET /v1/awaits', { limit: 1 }), { everyMs: 2 * POLL_MS });
  const hasRequest = open.data === undefined || open.data.items.length > 0;
  const operation = useOperation<DemoMessage>();
  const isPlaying = demo?.isPlaying === true || operation.isPending;
  const play = (scene: Scene) => operation.mutate(requestTo('POST /v1/demo/:scene', { scene }));
  return (
    <aside className="guide" aria-label="Tour">
      <div className="guide-steps">
        <strong>Tour</strong>
        {hasRequest ? (
          <Link to="/inbox">1 Approve an order</Link>
        ) : (
          <button type="button" disabled={isPlaying} onClick={() => play('ask')}>
            1 New order
          </button>
        )}
        <button type="button" disabled={isPlaying} onClick={() => play('freeze')}>
          2 Freeze a worker
        </button>
        <button type="button" disabled={isPlaying} onClick={() => play('fail-payment')}>
          3 Fail a payment
        </button>
        <Link to="/dead-letters">4 Recover it</Link>
        <Link to="/demo/code">View code</Link>
        <button type="button" className="quiet guide-close" onClick={onClose}>
          Hide
        </button>
      </div>
      <ProblemNote error={operation.error} />
      <Story demo={demo} hasRequest={hasRequest} />
    </aside>
  );
}

interface StoryProps {
  readonly demo: DemoMessage | undefined;
  readonly hasRequest: boolean;
}

function Story({ demo, hasRequest }: StoryProps): ReactNode {
  const story = demo?.story ?? [];
  const workers = demo?.workers ?? [];
  if (story.length === 0) {
    return (
      <p className="guide-story about">
        {plural(workers.length, 'worker process', 'worker processes')} (
        {workers.map(({ name, pid }) => `${name}: ${pid}`).join(', ')}){' '}
        {workers.length === 1 ? 'is' : 'are'} running{' '}
        <Link to="/demo/code">src/cli/demo/restaurant.ts</Link>.{' '}
        {hasRequest
          ? 'One order is waiting for your approval.'
          : 'No order is waiting for approval.'}
      </p>
    );
  }
  return (
    <div className="guide-story" role="status">
      <ol>
        {story.slice(-SHOWN).map(({ at, text, execution }) => (
          <li key={`${at}${text}`}>
            <Time at={at} /> {text}{' '}
            {execution === undefined ? null : <ExecutionLink id={execution} />}
          </li>
        ))}
      </ol>
    </div>
  );
}
