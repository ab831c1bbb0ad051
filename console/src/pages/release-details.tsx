// One release: its facts, the changes of its contract, and the result of its preflight.

import type { ReactNode } from 'react';
import type { ComparedMessage, ReleaseMessage } from '../../../src/features/releases/messages.ts';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import { type Read, useRead } from '../api/reads.ts';
import { countText, plural } from '../model/words.ts';
import { ExecutionLink, Time } from '../parts/marks.tsx';
import { Shown } from '../parts/notes.tsx';
import { Link } from '../router.tsx';

/** Two components call this; they share one query. */
export function useChanges(pipeline: string, name: string): Read<ComparedMessage> {
  return useRead(
    requestTo('GET /v1/pipelines/:pipeline/releases/:name/changes', { pipeline, name }),
  );
}

interface DetailsProps {
  readonly pipeline: string;
  readonly release: ReleaseMessage;
}

export function ReleaseDetails({ pipeline, release }: DetailsProps): ReactNode {
  const { name, artifact, digest, artifacts = [], contractVersion, pinned, retiredAt } = release;
  const changes = useChanges(pipeline, name);
  return (
    <>
      <dl className="facts">
        <div>
          <dt>Artifact</dt>
          <dd>{artifact}</dd>
        </div>
        <div>
          <dt>Digest</dt>
          <dd className="mono digest">{digest}</dd>
        </div>
        {artifacts.map((each) => (
          <div key={each.name}>
            <dt>{each.name}</dt>
            <dd className="mono digest">{each.digest}</dd>
          </div>
        ))}
        <div>
          <dt>Contract</dt>
          <dd className="mono" title={contractVersion}>
            {contractVersion.slice(0, 12)}
          </dd>
        </div>
        {retiredAt === undefined ? null : (
          <div>
            <dt>Retired</dt>
            <dd>
              <Time at={retiredAt} />
            </dd>
          </div>
        )}
      </dl>
      {release.state === 'draining' ? <Draining pipeline={pipeline} pinned={pinned} /> : null}
      <ContractChanges read={changes} name={name} />
      {/* Shown after the changes, which would push it down. */}
      {changes.isPending ? null : <PreflightResult release={release} />}
    </>
  );
}

function Draining({
  pipeline,
  pinned,
}: {
  readonly pipeline: string;
  readonly pinned: number;
}): ReactNode {
  const open = ['queued', 'running', 'waiting'].map((status) => `&status=${status}`).join('');
  return (
    <p className="preview" role="status">
      Draining: {plural(pinned, 'open execution')} must finish on this release. Keep its workers
      running.{' '}
      <Link to={`/executions?pipeline=${encodeURIComponent(pipeline)}${open}`}>
        Open executions of {pipeline}
      </Link>
    </p>
  );
}

interface ChangesProps {
  readonly name: string;
  readonly read: Read<ComparedMessage>;
}

function ContractChanges({ name, read }: ChangesProps): ReactNode {
  const { against, breaking = false, changes = [] } = read.data ?? {};
  return (
    <div className="found">
      <h3>
        Contract{' '}
        {against === undefined || against === name ? null : (
          <span className="about">against {against}</span>
        )}
      </h3>
      <Shown of={read}>
        {changes.length === 0 ? (
          <p className="about">{noChanges(name, against)}</p>
        ) : (
          <>
            <p className={breaking ? 'bad' : 'good'}>
              {breaking
                ? 'Incompatible with the active release.'
                : 'Compatible with the active release.'}
            </p>
            <ChangeList changes={changes} />
          </>
        )}
      </Shown>
    </div>
  );
}

function noChanges(name: string, against: string | undefined): string {
  if (against === undefined) return 'No active release to compare with.';
  if (against === name) return 'This is the baseline.';
  return 'Identical to the active contract.';
}

function ChangeList({ changes }: { readonly changes: ComparedMessage['changes'] }): ReactNode {
  return (
    <ul className="changes">
      {changes.map(({ part, path, breaking, what }) => (
        <li key={`${part}${path}${what}`} className={breaking ? 'change change-breaks' : 'change'}>
          <strong>{breaking ? 'breaking' : 'compatible'}</strong>
          <span className="mono">
            {part}
            {path}
          </span>
          <span>{what}</span>
        </li>
      ))}
    </ul>
  );
}

function PreflightResult({ release }: { readonly release: ReleaseMessage }): ReactNode {
  const { preflight } = release;
  if (preflight === undefined) {
    return (
      <div className="found">
        <h3>Preflight</h3>
        <p className="about">
          Not run yet. Replays open executions with this release's code, without changing anything.
        </p>
      </div>
    );
  }
  const { at, open, replayed, broken, brokenCount } = preflight;
  return (
    <div className="found">
      <h3>
        Preflight{' '}
        <span className="about">
          <Time at={at} />
        </span>
      </h3>
      <p className={brokenCount === 0 ? 'good' : 'bad'}>
        {countText(replayed)} of {plural(open, 'open execution')} checked:{' '}
        {brokenCount === 0 ? 'all compatible.' : `${countText(brokenCount)} would break.`}
      </p>
      <ul className="changes">
        {broken.map(({ execution, release: pinned, seq, why }) => (
          <li key={execution} className="change change-breaks">
            <ExecutionLink id={execution} />
            <span className="about">
              {pinned === undefined ? 'not pinned' : pinned}
              {seq === undefined ? '' : `, event ${seq}`}
            </span>
            <span>{why}</span>
          </li>
        ))}
      </ul>
      {brokenCount > broken.length ? (
        <p className="about">and {countText(brokenCount - broken.length)} more.</p>
      ) : null}
    </div>
  );
}
