// The dialogs for releases. A change is refused if another one was made since the dialog opened.

import { type ReactNode, useId, useState } from 'react';
import type {
  LineBody,
  LineMessage,
  PreflightMessage,
  ReleaseMessage,
} from '../../../src/features/releases/messages.ts';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import { useAct, useMay } from '../api/reads.ts';
import { Dialog, reasoned } from '../parts/dialog.tsx';
import { AdminElsewhere, ProblemNote } from '../parts/notes.tsx';

interface LineAsk {
  readonly label: string;
  readonly title: string;
  readonly sentence: string;
  readonly act: LineBody['act'];
  readonly name?: string;
  /** The initial share of new executions, if the dialog asks for one. */
  readonly percent?: number;
  /** Refused if it breaks open executions, unless it is forced. */
  readonly mayBreak?: boolean;
  readonly className?: string;
}

interface OfLine {
  readonly pipeline: string;
  readonly line: LineMessage;
}

export function LineActs({ pipeline, line }: OfLine): ReactNode {
  const { admin, adminElsewhere } = useMay();
  if (adminElsewhere) return <AdminElsewhere />;
  if (!admin) return null;
  const { active, candidate, previous } = line;
  return (
    <>
      {candidate === undefined && previous === undefined ? null : (
        <LineButton
          pipeline={pipeline}
          line={line}
          ask={{
            ...{ label: 'Roll back…', title: 'Roll back', act: 'roll-back', className: 'danger' },
            sentence:
              candidate === undefined
                ? `New executions go to ${previous} again. Open executions are not moved.`
                : `New executions go to ${active} only; ${candidate} is no longer the candidate. Open executions are not moved.`,
          }}
        />
      )}
      {candidate === undefined ? null : (
        <LineButton
          pipeline={pipeline}
          line={line}
          ask={{
            ...{ label: 'Promote…', title: `Promote ${candidate}`, act: 'promote' },
            ...{ mayBreak: true, className: 'primary' },
            sentence: `All new executions go to ${candidate}. Open executions finish on ${active}.`,
          }}
        />
      )}
    </>
  );
}

export function ReleaseActs({
  pipeline,
  line,
  release,
}: OfLine & { readonly release: ReleaseMessage }): ReactNode {
  const { admin } = useMay();
  const { name, state } = release;
  if (!admin || state === 'retired') return null;
  const of = { pipeline, line };
  const isActive = state === 'active';
  return (
    <span className="acts">
      <PreflightButton pipeline={pipeline} name={name} />
      {isActive || line.active === undefined ? null : <ShareButton {...of} name={name} />}
      {isActive ? null : <ActivateButton {...of} name={name} />}
      {isActive ? <DeactivateButton {...of} name={name} /> : <RetireButton {...of} name={name} />}
    </span>
  );
}

type OfRelease = OfLine & { readonly name: string };

function ShareButton({ name, ...of }: OfRelease): ReactNode {
  const { active, candidate, percent = 10 } = of.line;
  const ask: LineAsk = {
    ...{
      label: 'Set traffic share…',
      title: `Set traffic share of ${name}`,
      act: 'percentage',
      name,
    },
    ...{ percent: candidate === name ? percent : 10, mayBreak: true },
    sentence: `Percentage of new executions routed to ${name} (by key); the rest go to ${active}. 0 removes it.`,
  };
  return <LineButton {...of} ask={ask} />;
}

function ActivateButton({ name, ...of }: OfRelease): ReactNode {
  const { active } = of.line;
  const ask: LineAsk = {
    ...{ label: 'Activate…', title: `Activate ${name}`, act: 'activate', name },
    ...{ mayBreak: true, className: 'primary' },
    sentence:
      active === undefined
        ? `New executions are pinned to ${name}; only workers running it can claim them.`
        : `All new executions go to ${name}. ${active} drains: its open executions finish there.`,
  };
  return <LineButton {...of} ask={ask} />;
}

function DeactivateButton({ name, ...of }: OfRelease): ReactNode {
  const ask: LineAsk = {
    ...{
      label: 'Deactivate…',
      title: `Deactivate ${name}`,
      act: 'deactivate',
      className: 'danger',
    },
    sentence: `New executions are not pinned; any worker serving the pipeline can claim them. Open executions finish on ${name}.`,
  };
  return <LineButton {...of} ask={ask} />;
}

function RetireButton({ name, ...of }: OfRelease): ReactNode {
  const ask: LineAsk = {
    ...{ label: 'Retire…', title: `Retire ${name}`, act: 'retire', name, className: 'danger' },
    sentence: 'Permanent: nothing can be pinned to it again and its name cannot be reused.',
  };
  return <LineButton {...of} ask={ask} />;
}

function LineButton({ ask, ...of }: OfLine & { readonly ask: LineAsk }): ReactNode {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button type="button" className={ask.className} onClick={() => setOpen(true)}>
        {ask.label}
      </button>
      {isOpen ? <LineDialog {...of} ask={ask} onClose={() => setOpen(false)} /> : null}
    </>
  );
}

type LineDialogProps = OfLine & { readonly ask: LineAsk; readonly onClose: () => void };

function LineDialog({ pipeline, line, ask, onClose }: LineDialogProps): ReactNode {
  const act = useAct();
  // The version that the user saw when the dialog opened.
  const [expected] = useState(line.version);
  const [reason, setReason] = useState('');
  const [percent, setPercent] = useState(String(ask.percent ?? ''));
  const [isForced, setForced] = useState(false);
  const reasonId = useId();
  const body: LineBody = {
    ...{ act: ask.act, expected },
    ...(ask.name === undefined ? {} : { name: ask.name }),
    ...(ask.percent === undefined ? {} : { percent: Number(percent) }),
    ...(isForced ? { force: true } : {}),
    ...reasoned(reason),
  };
  const request = requestTo('POST /v1/pipelines/:pipeline/line', { ...body, pipeline });
  return (
    <Dialog title={ask.title} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          act.mutate(request, { onSuccess: onClose });
        }}
      >
        <p>{ask.sentence}</p>
        {ask.percent === undefined ? null : <PercentField percent={percent} onType={setPercent} />}
        <label htmlFor={reasonId}>
          Reason <span className="about">(recorded in the change log)</span>
        </label>
        <input
          id={reasonId}
          value={reason}
          required={isForced}
          maxLength={1_024}
          onChange={(event) => setReason(event.target.value)}
        />
        {ask.mayBreak === true ? (
          <label className={isForced ? 'chip chip-on' : 'chip'}>
            <input type="checkbox" checked={isForced} onChange={() => setForced(!isForced)} />
            Force, even though it breaks open executions
          </label>
        ) : null}
        <ProblemNote error={act.error} />
        <div className="dialog-acts">
          <button type="button" className="quiet" onClick={onClose}>
            Cancel
          </button>
          <button
            type="submit"
            className={isForced || ask.className === 'danger' ? 'danger' : 'primary'}
            disabled={act.isPending}
          >
            {act.isPending ? 'Working…' : ask.title}
          </button>
        </div>
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
      <label htmlFor={id}>Share of new executions (%)</label>
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
  const act = useAct<PreflightMessage>();
  const [sample, setSample] = useState('');
  const id = useId();
  const at = 'POST /v1/pipelines/:pipeline/releases/:name/preflight';
  return (
    <Dialog title={`Preflight of ${name}`} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          const body = sample === '' ? {} : { sample: Number(sample) };
          act.mutate(requestTo(at, { pipeline, name, ...body }), { onSuccess: onClose });
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
        <ProblemNote error={act.error} />
        <div className="dialog-acts">
          <button type="button" className="quiet" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className="primary" disabled={act.isPending}>
            {act.isPending ? 'Running…' : 'Run preflight'}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
