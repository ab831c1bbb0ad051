// The operations on a rollout. Each request names the version of the rollout that the user saw. If
// another user has changed the rollout since, the coordinator refuses the request.

import { type ReactNode, useId, useState } from 'react';
import type {
  PreflightMessage,
  ReleaseMessage,
  RolloutBody,
  RolloutMessage,
} from '../../../src/features/releases/messages.ts';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import { useMay, useOperation } from '../api/reads.ts';
import { Dialog, DialogActions, DialogButton, ReasonField, reasoned } from '../parts/dialog.tsx';
import { AdminElsewhere, ProblemNote } from '../parts/notes.tsx';
import { showToast } from '../parts/toast.tsx';

interface RolloutAsk {
  readonly label: string;
  readonly title: string;
  readonly sentence: string;
  readonly action: RolloutBody['action'];
  readonly name?: string;
  /** The initial value of the percent field; without it, there is no such field. */
  readonly percent?: number;
  /** The coordinator refuses a release that breaks something, so the dialog offers to force it. */
  readonly mayBreak?: boolean;
  readonly className?: string;
}

interface OfRollout {
  readonly pipeline: string;
  readonly rollout: RolloutMessage;
}

export function RolloutOperations({ pipeline, rollout }: OfRollout): ReactNode {
  const { admin, adminElsewhere } = useMay();
  if (adminElsewhere) return <AdminElsewhere />;
  if (!admin) return null;
  const { active, canary, previous } = rollout;
  return (
    <>
      {canary === undefined && previous === undefined ? null : (
        <RolloutButton
          pipeline={pipeline}
          rollout={rollout}
          ask={{
            ...{
              label: 'Roll back…',
              title: `Roll back to ${canary === undefined ? previous : active}`,
              action: 'roll-back',
              className: 'danger',
            },
            sentence:
              canary === undefined
                ? `New executions go to ${previous} again. Open executions stay on their release. Re-drive failed ones in Dead letters.`
                : `New executions go to ${active} only; ${canary} is no longer the canary. Open executions stay on their release.`,
          }}
        />
      )}
      {canary === undefined ? null : (
        <RolloutButton
          pipeline={pipeline}
          rollout={rollout}
          ask={{
            ...{ label: 'Promote…', title: `Promote ${canary}`, action: 'promote' },
            ...{ mayBreak: true, className: 'primary' },
            sentence: `All new executions go to ${canary}. Open executions finish on ${active}.`,
          }}
        />
      )}
    </>
  );
}

export function ReleaseOperations({
  pipeline,
  rollout,
  release,
}: OfRollout & { readonly release: ReleaseMessage }): ReactNode {
  const { admin } = useMay();
  const { name, state } = release;
  if (!admin || state === 'retired') return null;
  const of = { pipeline, rollout };
  const isActive = state === 'active';
  return (
    <span className="actions">
      <PreflightButton pipeline={pipeline} name={name} />
      {isActive || rollout.active === undefined ? null : <CanaryButton {...of} name={name} />}
      {isActive ? null : <ActivateButton {...of} name={name} />}
      {isActive ? <DeactivateButton {...of} name={name} /> : <RetireButton {...of} name={name} />}
    </span>
  );
}

type OfRelease = OfRollout & { readonly name: string };

function CanaryButton({ name, ...of }: OfRelease): ReactNode {
  const { active, canary, percent = 10 } = of.rollout;
  const ask: RolloutAsk = {
    ...{ label: 'Set canary…', title: `Set ${name} as canary`, action: 'set-canary', name },
    ...{ percent: canary === name ? percent : 10, mayBreak: true },
    sentence: `Percentage of new executions routed to ${name} (by key); the rest go to ${active}. 0 removes the canary.`,
  };
  return <RolloutButton {...of} ask={ask} />;
}

function ActivateButton({ name, ...of }: OfRelease): ReactNode {
  const { active } = of.rollout;
  const ask: RolloutAsk = {
    ...{ label: 'Activate…', title: `Activate ${name}`, action: 'activate', name },
    mayBreak: true,
    ...(active === undefined ? { className: 'primary' } : {}),
    sentence:
      active === undefined
        ? `New executions are pinned to ${name}; only workers running it can claim them.`
        : `All new executions go to ${name}. ${active} drains: its open executions finish there.`,
  };
  return <RolloutButton {...of} ask={ask} />;
}

function DeactivateButton({ name, ...of }: OfRelease): ReactNode {
  const ask: RolloutAsk = {
    ...{
      label: 'Deactivate…',
      title: `Deactivate ${name}`,
      action: 'deactivate',
      className: 'danger',
    },
    sentence: `New executions are not pinned; any worker serving the pipeline can claim them. Open executions finish on ${name}.`,
  };
  return <RolloutButton {...of} ask={ask} />;
}

function RetireButton({ name, ...of }: OfRelease): ReactNode {
  const ask: RolloutAsk = {
    ...{ label: 'Retire…', title: `Retire ${name}`, action: 'retire', name, className: 'danger' },
    sentence: 'Permanent: nothing can be pinned to it again and its name cannot be reused.',
  };
  return <RolloutButton {...of} ask={ask} />;
}

function RolloutButton({ ask, ...of }: OfRollout & { readonly ask: RolloutAsk }): ReactNode {
  return (
    <DialogButton label={ask.label} className={ask.className ?? ''}>
      {(onClose) => <RolloutDialog {...of} ask={ask} onClose={onClose} />}
    </DialogButton>
  );
}

type RolloutDialogProps = OfRollout & { readonly ask: RolloutAsk; readonly onClose: () => void };

function RolloutDialog({ pipeline, rollout, ask, onClose }: RolloutDialogProps): ReactNode {
  const operation = useOperation();
  // The version when the dialog opened: the user decided by that one.
  const [expected] = useState(rollout.version);
  const [reason, setReason] = useState('');
  const [percent, setPercent] = useState(String(ask.percent ?? ''));
  const [isForced, setForced] = useState(false);
  const body: RolloutBody = {
    ...{ action: ask.action, expected },
    ...(ask.name === undefined ? {} : { name: ask.name }),
    ...(ask.percent === undefined ? {} : { percent: Number(percent) }),
    ...(isForced ? { force: true } : {}),
    ...reasoned(reason),
  };
  const request = requestTo('POST /v1/pipelines/:pipeline/rollout', { ...body, pipeline });
  return (
    <Dialog title={ask.title} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          operation.mutate(request, {
            onSuccess: () => {
              onClose();
              showToast({ text: `${ask.title}: done` });
            },
          });
        }}
      >
        <p>{ask.sentence}</p>
        {ask.percent === undefined ? null : <PercentField percent={percent} onType={setPercent} />}
        <ReasonField value={reason} onType={setReason} isRequired={isForced} log="change log" />
        {ask.mayBreak === true ? (
          <label className={isForced ? 'chip chip-on' : 'chip'}>
            <input type="checkbox" checked={isForced} onChange={() => setForced(!isForced)} />
            Force, even though it breaks open executions
          </label>
        ) : null}
        <ProblemNote error={operation.error} />
        <DialogActions
          verb={ask.title}
          onClose={onClose}
          isPending={operation.isPending}
          isDanger={isForced || ask.className === 'danger'}
        />
      </form>
    </Dialog>
  );
}

function PercentField({
  percent,
  onType,
}: {
  readonly percent: string;
  readonly onType: (percent: string) => void;
}): ReactNode {
  const id = useId();
  return (
    <>
      <label htmlFor={id}>Percent of new executions</label>
      <input
        id={id}
        type="number"
        required
        min={0}
        max={99}
        step={1}
        value={percent}
        onChange={(event) => onType(event.target.value)}
      />
    </>
  );
}

function PreflightButton({
  pipeline,
  name,
}: {
  readonly pipeline: string;
  readonly name: string;
}): ReactNode {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button type="button" onClick={() => setOpen(true)}>
        Preflight…
      </button>
      {isOpen ? (
        <PreflightDialog pipeline={pipeline} name={name} onClose={() => setOpen(false)} />
      ) : null}
    </>
  );
}

interface PreflightDialogProps {
  readonly pipeline: string;
  readonly name: string;
  readonly onClose: () => void;
}

function PreflightDialog({ pipeline, name, onClose }: PreflightDialogProps): ReactNode {
  const operation = useOperation<PreflightMessage>();
  const [sample, setSample] = useState('');
  const id = useId();
  const at = 'POST /v1/pipelines/:pipeline/releases/:name/preflight';
  return (
    <Dialog title={`Preflight of ${name}`} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          const body = sample === '' ? {} : { sample: Number(sample) };
          operation.mutate(requestTo(at, { pipeline, name, ...body }), { onSuccess: onClose });
        }}
      >
        <p>
          A worker running {name} replays open executions against recorded results and writes
          nothing. The release must have a running worker but need not be active.
        </p>
        <label htmlFor={id}>
          Max executions <span className="about">(optional, default: all)</span>
        </label>
        <input
          id={id}
          type="number"
          min={0}
          max={10_000_000}
          value={sample}
          onChange={(event) => setSample(event.target.value)}
        />
        <ProblemNote error={operation.error} />
        <DialogActions verb="Run preflight" onClose={onClose} isPending={operation.isPending} />
      </form>
    </Dialog>
  );
}
