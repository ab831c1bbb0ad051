// The first five minutes with the demo of `holdfast dev`: a checklist on the overview, one line elsewhere.

import '../look/guide.css';
import { type ReactNode, useState } from 'react';
import type { DemoMessage, Scene } from '../../../src/protocol/messages/coordinator.ts';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import { useCommand, useOperation, useRead } from '../api/reads.ts';
import { type TourStep, tourOf } from '../model/tour.ts';
import { Time } from '../parts/marks.tsx';
import { ProblemNote } from '../parts/notes.tsx';
import { Link } from '../router.tsx';
import { Crew } from './crew.tsx';

const CLOSED_KEY = 'holdfast.guide';
const POLL_MS = 1_000;

export function Guide({ path }: { readonly path: string }): ReactNode {
  const [isClosed, setClosed] = useState(() => localStorage.getItem(CLOSED_KEY) === 'closed');
  const close = (closed: boolean): void => {
    localStorage.setItem(CLOSED_KEY, closed ? 'closed' : 'open');
    setClosed(closed);
  };
  if (!isClosed) return <OpenGuide isWhole={path === '/'} onClose={() => close(true)} />;
  return path === '/' ? (
    <button type="button" className="quiet guide-open" onClick={() => close(false)}>
      Open the tour
    </button>
  ) : null;
}

interface OpenGuideProps {
  readonly isWhole: boolean;
  readonly onClose: () => void;
}

function OpenGuide({ isWhole, onClose }: OpenGuideProps): ReactNode {
  const { data: demo } = useRead(requestTo('GET /v1/demo'), { everyMs: POLL_MS });
  const steps = tourOf(demo?.story ?? []);
  const done = steps.filter(({ isDone }) => isDone).length;
  const last = demo?.story.at(-1);
  return (
    <aside className="guide" aria-label="Tour">
      <header className="guide-head">
        <strong>The first five minutes</strong>
        <span className="about">
          {done} of {steps.length} done
        </span>
        <span className="guide-last" role="status">
          {last === undefined ? null : (
            <>
              <Time at={last.at} /> {last.text}
            </>
          )}
        </span>
        {isWhole ? null : <Link to="/">Back to the tour</Link>}
        <button type="button" className="quiet" onClick={onClose}>
          Hide
        </button>
      </header>
      {isWhole ? <Checklist demo={demo} steps={steps} /> : null}
    </aside>
  );
}

const DEMO_PIPELINE = 'restaurant-order';

interface ChecklistProps {
  readonly demo: DemoMessage | undefined;
  readonly steps: readonly TourStep[];
}

function Checklist({ demo, steps }: ChecklistProps): ReactNode {
  const open = useRead(requestTo('GET /v1/awaits', { name: 'approval', limit: 100 }), {
    everyMs: 2 * POLL_MS,
  });
  // Your own pipelines may ask something too.
  const hasRequest = open.data?.items.some(({ unit }) => unit?.pipeline === DEMO_PIPELINE) === true;
  const operation = useOperation<DemoMessage>();
  const isPlaying = demo?.isPlaying === true || operation.isPending;
  const play = (scene: Scene) => operation.mutate(requestTo('POST /v1/demo/:scene', { scene }));
  const command = useCommand();
  const isAllDone = steps.every(({ isDone }) => isDone);
  return (
    <>
      <ol className="guide-steps">
        {steps.map((step, index) => (
          <li key={step.key} className={step.isDone ? 'guide-step guide-done' : 'guide-step'}>
            <StepHead nth={index + 1} step={step} />
            <SubSteps step={step} />
            <span className="actions">
              {step.key === 'approve' && hasRequest ? (
                <Link to="/inbox" className="button">
                  Approve in the inbox
                </Link>
              ) : step.key === 'recover' ? (
                <Link to="/dead-letters" className="button">
                  Open dead letters
                </Link>
              ) : (
                <button
                  type="button"
                  disabled={isPlaying || demo === undefined}
                  onClick={() => step.scene !== undefined && play(step.scene)}
                >
                  {step.key === 'approve' ? 'New order' : step.title}
                </button>
              )}
              {step.to === undefined || !step.isDone ? null : (
                <Link to={step.to}>See it on the timeline</Link>
              )}
            </span>
          </li>
        ))}
        <li className={isAllDone ? 'guide-step guide-done' : 'guide-step'}>
          <p className="guide-title">
            <span className="guide-nth">5</span> Now your own code
          </p>
          <pre>{command} init shop</pre>
          <span className="actions">
            <Link to="/demo/code">View the demo's code</Link>
          </span>
        </li>
      </ol>
      <ProblemNote error={operation.error} />
      <Crew demo={demo} freeze={steps.find(({ key }) => key === 'freeze')} />
    </>
  );
}

interface StepProps {
  readonly step: TourStep;
}

function StepHead({ nth, step }: StepProps & { readonly nth: number }): ReactNode {
  return (
    <p className="guide-title">
      <span className="guide-nth">{step.isDone ? '✓' : nth}</span> {step.title}
      {step.isDone ? <span className="hidden"> (done)</span> : null}
    </p>
  );
}

function SubSteps({ step }: StepProps): ReactNode {
  return (
    <ul className="guide-subs">
      {step.subSteps.map(({ text, isDone }) => (
        <li key={text} className={isDone ? 'good' : 'about'}>
          <span aria-hidden="true">{isDone ? '✓' : '○'}</span> {text}
          <span className="hidden">{isDone ? ', done' : ', to come'}</span>
        </li>
      ))}
    </ul>
  );
}
