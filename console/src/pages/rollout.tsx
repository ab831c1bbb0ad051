// The releases of one pipeline: which is active, what drains, what a new one would break, and who did what.

import { type ReactNode, useEffect, useState } from 'react';
import type {
  ActivationMessage,
  ReleaseMessage,
  RolloutMessage,
} from '../../../src/features/releases/messages.ts';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import { useMay, useRead } from '../api/reads.ts';
import { countText, plural } from '../model/words.ts';
import { Status, Time } from '../parts/marks.tsx';
import { Empty, PageHead, Shown } from '../parts/notes.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { goWith, Link, usePlace } from '../router.tsx';
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
          <Empty title="It has no releases">
            <p>
              Register one: <code>holdfast releases register {pipeline} v1 …</code>
            </p>
          </Empty>
        }
      >
        {rollout.data === undefined ? null : (
          <Builds pipeline={pipeline} rollout={rollout.data} releases={releases} />
        )}
      </Shown>
    </>
  );
}

interface BuildsProps {
  readonly pipeline: string;
  readonly rollout: RolloutMessage;
  readonly releases: readonly ReleaseMessage[];
}

/** One is looked at: which is in the address, or the one that is most likely to be asked about. */
function Builds({ pipeline, rollout, releases }: BuildsProps): ReactNode {
  const place = usePlace();
  // Not another one because somebody has registered or activated meanwhile.
  const [first] = useState(() => rollout.canary ?? releases[0]?.name);
  const named = place.query.get('release') ?? first;
  const chosen = releases.find(({ name }) => name === named) ?? releases[0];
  const open = releases.reduce((sum, { pinned }) => sum + pinned, 0);
  const [isComplete, setComplete] = useState(false);
  return (
    <>
      <RolloutBar rollout={rollout} />
      <div className="split split-even">
        <ul className="causes" aria-label="Builds">
          {releases.map((release) => (
            <BuildCard
              key={release.name}
              release={release}
              open={open}
              isChosen={release === chosen}
              onChoose={() => goWith(place, { release: release.name })}
            />
          ))}
        </ul>
        {chosen === undefined ? null : (
          <section className="card" aria-label={`Release ${chosen.name}`}>
            <header className="section-head">
              <h2>{chosen.name}</h2>
              <Status status={chosen.state} />
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

interface WhenReadProps {
  readonly pipeline: string;
  readonly name: string;
  readonly onRead: (isRead: true) => void;
}

/** What comes below waits for what is above it, the first time: nothing moves under the reader's eyes. */
function WhenRead({ pipeline, name, onRead }: WhenReadProps): ReactNode {
  const { isPending } = useChanges(pipeline, name);
  useEffect(() => {
    if (!isPending) onRead(true);
  }, [isPending, onRead]);
  return null;
}

interface BuildCardProps {
  readonly release: ReleaseMessage;
  readonly open: number;
  readonly isChosen: boolean;
  readonly onChoose: () => void;
}

function BuildCard({ release, open, isChosen, onChoose }: BuildCardProps): ReactNode {
  const { name, state, pinned, createdAt, createdBy } = release;
  return (
    <li>
      <button type="button" className="asked-one" aria-pressed={isChosen} onClick={onChoose}>
        <span className="session-head">
          <strong className="mono">{name}</strong>
          <Status status={state} />
        </span>
        {pinned === 0 ? null : (
          <span className="pinned">
            <meter
              min={0}
              max={Math.max(1, open)}
              value={pinned}
              aria-label={`${pinned} of ${open} open executions are pinned to ${name}`}
            />
            <span>{pinnedText(state, pinned)}</span>
          </span>
        )}
        <span className="about">
          registered <Time at={createdAt} /> by {createdBy}
        </span>
      </button>
    </li>
  );
}

function pinnedText(state: ReleaseMessage['state'], pinned: number): string {
  return state === 'draining'
    ? `${plural(pinned, 'execution')} to go`
    : `${countText(pinned)} pinned`;
}

const LOG: readonly Column<ActivationMessage>[] = [
  { title: 'When', width: '7.5rem', cell: ({ at }) => <Time at={at} /> },
  { title: 'Who', width: 'minmax(8rem, 1fr)', cell: ({ actor }) => actor },
  {
    title: 'Did',
    width: 'minmax(9rem, 1fr)',
    cell: ({ action, name, forced }) => (
      <>
        <strong>{action}</strong> <span className="mono">{name}</span>
        {forced ? <span className="bad"> by force</span> : null}
      </>
    ),
  },
  {
    title: 'New executions since',
    width: 'minmax(10rem, 1fr)',
    cell: ({ after, version }) => (
      <span title={rolloutSentence({ ...after, version })}>{percentsText(after)}</span>
    ),
  },
  {
    title: 'Why',
    width: 'minmax(10rem, 1.6fr)',
    cell: ({ reason }) => <span title={reason}>{reason}</span>,
  },
];

function percentsText({ active, canary, percent = 0 }: ActivationMessage['after']): string {
  if (active === undefined) return 'pinned to nothing';
  return canary === undefined ? active : `${active} ${100 - percent}%, ${canary} ${percent}%`;
}

function Log({ pipeline }: { readonly pipeline: string }): ReactNode {
  const { admin } = useMay();
  const read = useRead(requestTo('GET /v1/pipelines/:pipeline/activations', { pipeline }), {
    everyMs: 5_000,
  });
  const items = read.data?.items ?? [];
  return (
    <section aria-label="Activations">
      <h2>Activations</h2>
      <Shown
        of={read}
        isEmpty={read.data !== undefined && items.length === 0}
        empty={
          <p className="about">
            No release was activated yet.
            {admin ? ' Choose a release, and Activate it.' : ''}
          </p>
        }
      >
        <Table
          label="Activations"
          columns={LOG}
          items={items}
          keyOf={({ version }) => String(version)}
        />
      </Shown>
    </section>
  );
}
