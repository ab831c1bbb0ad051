// The releases of one pipeline, the details of the selected one, and the change log of the rollout.

import { type ReactNode, useEffect, useState } from 'react';
import type { TrendsMessage } from '../../../src/features/overview/messages.ts';
import type {
  ActivationMessage,
  ReleaseMessage,
  RolloutMessage,
} from '../../../src/features/releases/messages.ts';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import { useOverview } from '../api/overview.ts';
import { useCommand, useMay, useRead } from '../api/reads.ts';
import { actorText, countText, plural, sentenceCase } from '../model/words.ts';
import { Status, Time } from '../parts/marks.tsx';
import { Empty, PageHead, Shown } from '../parts/notes.tsx';
import { ShareBar } from '../parts/share-bar.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { goWith, Link, useLocation } from '../router.tsx';
import { ReleaseDetails, useChanges } from './release-details.tsx';
import { RolloutBar, rolloutSentence } from './releases.tsx';
import { ReleaseOperations, RolloutOperations } from './rollout-operations.tsx';

const POLL_MS = 2_000;

export function RolloutPage({ pipeline }: { readonly pipeline: string }): ReactNode {
  const everyMs = POLL_MS;
  const rollout = useRead(requestTo('GET /v1/pipelines/:pipeline/rollout', { pipeline }), {
    everyMs,
  });
  const read = useRead(requestTo('GET /v1/pipelines/:pipeline/releases', { pipeline }), {
    everyMs,
  });
  const command = useCommand();
  const releases = read.data?.items ?? [];
  return (
    <>
      <p className="crumb">
        <Link to="/releases">Releases</Link> / {pipeline}
      </p>
      <PageHead
        title={pipeline}
        about={rollout.data === undefined ? ' ' : rolloutSentence(rollout.data)}
      >
        {rollout.data === undefined ? null : (
          <RolloutOperations pipeline={pipeline} rollout={rollout.data} />
        )}
      </PageHead>
      <Shown
        of={read}
        isEmpty={read.data !== undefined && releases.length === 0}
        empty={
          <Empty title="No releases">
            <p>
              Register one:{' '}
              <code>
                {command} releases register {pipeline} v1 …
              </code>
            </p>
          </Empty>
        }
      >
        <LetterNote pipeline={pipeline} />
        {rollout.data === undefined ? null : (
          <Releases pipeline={pipeline} rollout={rollout.data} releases={releases} />
        )}
      </Shown>
    </>
  );
}

/** After a rollback, its failures are what is left to repair. */
function LetterNote({ pipeline }: { readonly pipeline: string }): ReactNode {
  const { data } = useOverview();
  const causes = data?.deadLetters.causes.filter((each) => each.pipeline === pipeline) ?? [];
  const total = causes.reduce((sum, { count }) => sum + count, 0);
  if (total === 0) return null;
  return (
    <p className="why why-bad">
      {plural(total, 'open dead letter')} of {pipeline}.{' '}
      <Link to={`/dead-letters?pipeline=${encodeURIComponent(pipeline)}`}>
        Re-drive in Dead letters
      </Link>
    </p>
  );
}

interface ReleasesProps {
  readonly pipeline: string;
  readonly rollout: RolloutMessage;
  readonly releases: readonly ReleaseMessage[];
}

/** The URL names the selected release. By default it is the canary, or the newest release. */
function Releases({ pipeline, rollout, releases }: ReleasesProps): ReactNode {
  const location = useLocation();
  // Kept: the selection must not change when another user registers or activates a release.
  const [first] = useState(() => rollout.canary ?? releases[0]?.name);
  const named = location.query.get('release') ?? first;
  const chosen = releases.find(({ name }) => name === named) ?? releases[0];
  const open = releases.reduce((sum, { pinned }) => sum + pinned, 0);
  const [isComplete, setComplete] = useState(false);
  const trends = useRead(requestTo('GET /v1/trends', { rangeMs: HOUR_MS, pipeline }), {
    everyMs: TRENDS_MS,
  });
  const endedText = (name: string): ReactNode =>
    trends.data === undefined ? ' ' : <EndedText trends={trends.data} release={name} />;
  return (
    <>
      <RolloutBar rollout={rollout} />
      <div className="split split-even">
        <ul className="causes" aria-label="Releases">
          {releases.map((release) => (
            <ReleaseCard
              key={release.name}
              release={release}
              open={open}
              ended={endedText(release.name)}
              isChosen={release === chosen}
              onChoose={() => goWith(location, { release: release.name })}
            />
          ))}
        </ul>
        {chosen === undefined ? null : (
          <section className="card" aria-label={`Release ${chosen.name}`}>
            <header className="section-head">
              <h2>{chosen.name}</h2>
              <Status status={chosen.state} />
              <Link to={`/executions?${new URLSearchParams({ pipeline, release: chosen.name })}`}>
                Executions
              </Link>
              <ReleaseOperations pipeline={pipeline} rollout={rollout} release={chosen} />
            </header>
            <ReleaseDetails key={chosen.name} pipeline={pipeline} release={chosen} />
            <WhenRead pipeline={pipeline} name={chosen.name} onRead={setComplete} />
          </section>
        )}
      </div>
      {isComplete ? <Log pipeline={pipeline} /> : null}
    </>
  );
}

const HOUR_MS = 3_600_000;
const TRENDS_MS = 5_000;

interface EndedTextProps {
  readonly trends: TrendsMessage;
  readonly release: string;
}

/** How the executions of a release ended: the figure that decides about a canary. */
function EndedText({ trends, release }: EndedTextProps): ReactNode {
  const ended = trends.pipelines.find((each) => each.release === release)?.ended;
  if (ended === undefined) return 'None ended in the last hour';
  const all = Object.values(ended).reduce((sum, count) => sum + count, 0);
  const bad = ended.failed + ended.quarantined;
  return (
    <>
      {countText(all)} ended in the last hour,{' '}
      <span className={bad === 0 ? '' : 'bad'}>{Math.round((bad / all) * 100)} % failed</span>
    </>
  );
}

interface WhenReadProps {
  readonly pipeline: string;
  readonly name: string;
  readonly onRead: (isRead: true) => void;
}

/** Reports when the details above have loaded. Only then the log is shown: they would push it down. */
function WhenRead({ pipeline, name, onRead }: WhenReadProps): ReactNode {
  const { isPending } = useChanges(pipeline, name);
  useEffect(() => {
    if (!isPending) onRead(true);
  }, [isPending, onRead]);
  return null;
}

interface ReleaseCardProps {
  readonly release: ReleaseMessage;
  readonly open: number;
  readonly ended: ReactNode;
  readonly isChosen: boolean;
  readonly onChoose: () => void;
}

function ReleaseCard(props: ReleaseCardProps): ReactNode {
  const { release, open, ended, isChosen, onChoose } = props;
  const { name, state, pinned, createdAt, createdBy } = release;
  return (
    <li>
      <button type="button" className="choice-card" aria-pressed={isChosen} onClick={onChoose}>
        <span className="session-head">
          <strong className="mono">{name}</strong>
          <Status status={state} />
        </span>
        <span className="about">{ended}</span>
        {pinned === 0 ? null : (
          <span className="pinned">
            <ShareBar
              part={pinned / Math.max(1, open)}
              severity={state === 'draining' ? 'warn' : 'ok'}
              label={`${pinned} of ${open} open executions are pinned to ${name}`}
            />
            <span>{pinnedText(state, pinned)}</span>
          </span>
        )}
        <span className="about">
          Registered <Time at={createdAt} /> by {actorText(createdBy)}
        </span>
      </button>
    </li>
  );
}

function pinnedText(state: ReleaseMessage['state'], pinned: number): string {
  return state === 'draining' ? `${countText(pinned)} remaining` : `${countText(pinned)} pinned`;
}

const LOG: readonly Column<ActivationMessage>[] = [
  { title: 'Time', width: '7.5rem', cell: ({ at }) => <Time at={at} /> },
  { title: 'Actor', width: 'minmax(8rem, 1fr)', cell: ({ actor }) => actorText(actor) },
  {
    title: 'Action',
    width: 'minmax(9rem, 1fr)',
    cell: ({ action, name, forced }) => (
      <>
        <strong>{sentenceCase(action)}</strong> <span className="mono">{name}</span>
        {forced ? <span className="bad"> (forced)</span> : null}
      </>
    ),
  },
  {
    title: 'Traffic after',
    width: 'minmax(10rem, 1fr)',
    cell: ({ after, version }) => (
      <span title={rolloutSentence({ ...after, version })}>{percentsText(after)}</span>
    ),
  },
  {
    title: 'Reason',
    width: 'minmax(10rem, 1.6fr)',
    cell: ({ reason }) => <span title={reason}>{reason}</span>,
  },
];

function percentsText({ active, canary, percent = 0 }: ActivationMessage['after']): string {
  if (active === undefined) return 'not pinned';
  return canary === undefined ? active : `${active} ${100 - percent}%, ${canary} ${percent}%`;
}

function Log({ pipeline }: { readonly pipeline: string }): ReactNode {
  const { admin } = useMay();
  const read = useRead(requestTo('GET /v1/pipelines/:pipeline/activations', { pipeline }), {
    everyMs: 5_000,
  });
  const items = read.data?.items ?? [];
  return (
    <section aria-label="Change log">
      <h2>Change log</h2>
      <Shown
        of={read}
        isEmpty={read.data !== undefined && items.length === 0}
        empty={
          <p className="about">
            No changes yet.{admin ? ' Select a release and activate it.' : ''}
          </p>
        }
      >
        <Table
          label="Change log"
          columns={LOG}
          items={items}
          keyOf={({ version }) => String(version)}
        />
      </Shown>
    </section>
  );
}
