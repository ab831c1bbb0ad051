// An act on many: counted first, done by a job that can be watched and stopped.

import { type ReactNode, useId, useState } from 'react';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import { useAct, useRead } from '../api/reads.ts';
import { plural } from '../model/words.ts';
import { go } from '../router.tsx';
import { Dialog, reasoned } from './dialog.tsx';
import { ProblemNote } from './notes.tsx';

interface Bulk {
  readonly act: 'redrive' | 'cancel';
  /** Of a re-drive: what could not be undone is undone, and does not go on. */
  readonly mode?: 'compensate';
  readonly filter: Readonly<Record<string, string | boolean>>;
}

const WORDS = {
  redrive: { title: 'Re-drive many', verb: 'Re-drive', what: 'dead letter' },
  cancel: { title: 'Cancel many', verb: 'Cancel', what: 'open execution' },
} as const;

export function BulkButton({ label, ...bulk }: Bulk & { readonly label: string }): ReactNode {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button type="button" onClick={() => setOpen(true)}>
        {label}
      </button>
      {isOpen ? <BulkDialog {...bulk} onClose={() => setOpen(false)} /> : null}
    </>
  );
}

function BulkDialog({
  act,
  filter,
  mode,
  onClose,
}: Bulk & { readonly onClose: () => void }): ReactNode {
  const { title, verb } = WORDS[act];
  const [reason, setReason] = useState('');
  const [perSecond, setPerSecond] = useState('');
  const [preview, setPreview] = useState<string>();
  const count = useAct<{ readonly id: string }>();
  const start = useAct<{ readonly id: string }>();
  const [reasonId, paceId] = [useId(), useId()];
  const path = `POST /v1/jobs/${act}` as const;
  const pace = perSecond === '' ? {} : { perSecond: Number(perSecond) };
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          const body = { filter, ...pace, ...reasoned(reason), ...(mode && { mode }) };
          start.mutate(requestTo(path, body), { onSuccess: ({ id }) => go(`/jobs/${id}`) });
        }}
      >
        <p>{sentenceOf(act, filter)}</p>
        <Preview act={act} job={preview} />
        <label htmlFor={reasonId}>
          Reason <span className="about">(kept in the audit)</span>
        </label>
        <input id={reasonId} value={reason} onChange={(event) => setReason(event.target.value)} />
        <label htmlFor={paceId}>
          At most so many in a second <span className="about">(as fast as it can without)</span>
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
        <div className="dialog-acts">
          <button type="button" className="quiet" onClick={onClose}>
            Leave it
          </button>
          <button
            type="button"
            disabled={count.isPending}
            onClick={() =>
              count.mutate(requestTo(path, { filter, dryRun: true }), {
                onSuccess: ({ id }) => setPreview(id),
              })
            }
          >
            Count them first
          </button>
          <button type="submit" className="danger" disabled={start.isPending}>
            {verb}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

function sentenceOf(act: Bulk['act'], filter: Bulk['filter']): string {
  const parts = Object.entries(filter)
    .filter(([name]) => name !== 'open')
    .map(([name, value]) => `${name} ${value}`);
  const about = parts.length === 0 ? 'all of this project' : `those with ${parts.join(', ')}`;
  return act === 'cancel'
    ? `Open executions are cancelled: ${about}. What they did is undone where they say how.`
    : `Dead letters that nobody drove again yet are driven again: ${about}. Each goes on where it went wrong.`;
}

const COUNTING_MS = 500;

function Preview({
  act,
  job,
}: {
  readonly act: Bulk['act'];
  readonly job: string | undefined;
}): ReactNode {
  const read = useRead(requestTo('GET /v1/jobs/:id', { id: job ?? '' }), {
    isEnabled: job !== undefined,
    everyMs: COUNTING_MS,
  });
  if (job === undefined) return <p className="preview">It is not counted yet.</p>;
  const { seen = 0, status } = read.data ?? {};
  const what = plural(seen, WORDS[act].what);
  return (
    <p className="preview" role="status">
      {status === 'completed' ? `This concerns ${what}, as of now.` : `Counting … ${what} so far`}
    </p>
  );
}
