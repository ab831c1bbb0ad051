// A bulk operation: previewed first, then run by a job that can be watched and stopped.

import { type ReactNode, useEffect, useId, useState } from 'react';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import { useOperation, useRead } from '../api/reads.ts';
import { timeText } from '../model/time-text.ts';
import { callText, plural } from '../model/words.ts';
import { go } from '../router.tsx';
import { Dialog, DialogActions, DialogButton, ReasonField, reasoned } from './dialog.tsx';
import { ProblemNote } from './notes.tsx';

interface Bulk {
  readonly action: 'redrive' | 'cancel';
  /** A re-drive that only finishes the compensation. */
  readonly mode?: 'compensate';
  readonly filter: Readonly<Record<string, string | boolean | readonly string[]>>;
}

interface Words {
  readonly verb: string;
  readonly what: string;
  readonly matches: string;
  readonly dismiss: string;
  /** Its effect cannot be taken back, so the audit log needs a reason. */
  readonly isDanger: boolean;
}

const LETTER = { what: 'dead letter', matches: 'dead letter', dismiss: 'Cancel', isDanger: false };
const WORDS: Readonly<Record<'redrive' | 'compensate' | 'cancel', Words>> = {
  redrive: { ...LETTER, verb: 'Re-drive' },
  compensate: { ...LETTER, verb: 'Retry', what: 'compensation' },
  cancel: {
    ...{ verb: 'Cancel', what: 'execution', matches: 'open execution' },
    ...{ dismiss: 'Keep running', isDanger: true },
  },
};

function wordsOf({ action, mode }: Pick<Bulk, 'action' | 'mode'>): Words {
  return WORDS[mode ?? action];
}

export function BulkButton({ label, ...bulk }: Bulk & { readonly label: string }): ReactNode {
  return (
    <DialogButton label={label}>
      {(onClose) => <BulkDialog {...bulk} onClose={onClose} />}
    </DialogButton>
  );
}

function BulkDialog({
  action,
  filter,
  mode,
  onClose,
}: Bulk & { readonly onClose: () => void }): ReactNode {
  const words = wordsOf({ action, ...(mode && { mode }) });
  const { verb, what, dismiss, isDanger } = words;
  const [reason, setReason] = useState('');
  const [perSecond, setPerSecond] = useState('');
  const [preview, setPreview] = useState<string>();
  const count = useOperation<{ readonly id: string }>();
  const start = useOperation<{ readonly id: string }>();
  const paceId = useId();
  const counted = useCount(preview);
  const isCounted = counted?.status === 'completed';
  const path = `POST /v1/jobs/${action}` as const;
  const { mutate: startCount } = count;
  // A bulk operation cannot start without its count, so counting needs no click.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the filter of an open dialog is fixed
  useEffect(() => {
    startCount(requestTo(path, { filter, dryRun: true }), {
      onSuccess: ({ id }) => setPreview(id),
    });
  }, []);
  const pace = perSecond === '' ? {} : { perSecond: Number(perSecond) };
  return (
    <Dialog title={`${verb} ${what}s`} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          const counts = preview === undefined ? {} : { countedBy: preview };
          const body = { filter, ...counts, ...pace, ...reasoned(reason), ...(mode && { mode }) };
          start.mutate(requestTo(path, body), { onSuccess: ({ id }) => go(`/jobs/${id}`) });
        }}
      >
        <p>{sentenceOf({ action, filter, ...(mode && { mode }) })}</p>
        <Preview words={words} counted={counted} />
        <ReasonField value={reason} onType={setReason} isRequired={isDanger} />
        <label htmlFor={paceId}>
          Max per second <span className="about">(optional, default: unlimited)</span>
        </label>
        <input
          id={paceId}
          type="number"
          min={1}
          max={1_000_000}
          value={perSecond}
          onChange={(event) => setPerSecond(event.target.value)}
        />
        <ProblemNote error={count.error ?? start.error} />
        <DialogActions
          verb={`${verb} ${isCounted ? plural(counted.seen, what) : `${what}s`}`}
          onClose={onClose}
          isPending={start.isPending}
          isDisabled={!isCounted || counted.seen === 0}
          dismiss={dismiss}
          isDanger={isDanger}
        />
      </form>
    </Dialog>
  );
}

function sentenceOf({ action, filter, mode }: Bulk): string {
  const parts = Object.entries(filter)
    .filter(([name]) => !['open', 'redriven', 'status'].includes(name))
    .map(([name, value]) =>
      name === 'where'
        ? [value].flat().join(', ')
        : name === 'step'
          ? `step = ${callText(String(value))}`
          : (TIMES[name]?.(timeText('full', new Date(String(value)))) ?? `${name} = ${value}`),
    );
  const which = parts.length === 0 ? 'in this project' : `matching ${parts.join(', ')}`;
  if (action === 'cancel') {
    return `Cancels all open executions ${which}. Completed steps that define a compensation are compensated.`;
  }
  const how =
    mode === 'compensate'
      ? 'finishes its compensation'
      : 'resumes at the failed step, in the release that new executions get';
  return `Re-drives all dead letters ${which} that were not re-driven before. Each ${how}.`;
}

const TIMES: Readonly<Record<string, (time: string) => string>> = {
  submittedFrom: (time) => `submitted from ${time}`,
  submittedTo: (time) => `submitted before ${time}`,
  endedFrom: (time) => `ended from ${time}`,
  endedTo: (time) => `ended before ${time}`,
};

const COUNTING_MS = 500;

/** The job that counts; undefined before it is started. */
function useCount(
  job: string | undefined,
): { readonly seen: number; readonly status: string } | undefined {
  const { data } = useRead(requestTo('GET /v1/jobs/:id', { id: job ?? '' }), {
    isEnabled: job !== undefined,
    everyMs: COUNTING_MS,
  });
  return job === undefined ? undefined : (data ?? { seen: 0, status: 'running' });
}

interface PreviewProps {
  readonly words: Words;
  readonly counted: ReturnType<typeof useCount>;
}

function Preview({ words, counted }: PreviewProps): ReactNode {
  const { seen, status } = counted ?? { seen: 0, status: 'running' };
  return (
    <p className="preview" role="status">
      {status === 'completed'
        ? `Matches ${plural(seen, words.matches)} right now.`
        : `Counting… ${plural(seen, words.matches)} so far`}
    </p>
  );
}
