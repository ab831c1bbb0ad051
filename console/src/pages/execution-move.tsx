// Another release for an execution that nobody runs: an act, with a reason.

import { type ReactNode, useId, useState } from 'react';
import type { ExecutionInFull } from '../../../src/protocol/messages/execution.ts';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import { useAct, useRead } from '../api/reads.ts';
import { Dialog, reasoned } from '../parts/dialog.tsx';
import { ProblemNote, Shown } from '../parts/notes.tsx';

interface MoveProps {
  readonly execution: ExecutionInFull;
}

export function MoveButton({ execution }: MoveProps): ReactNode {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button type="button" onClick={() => setOpen(true)}>
        Move…
      </button>
      {isOpen ? <MoveDialog execution={execution} onClose={() => setOpen(false)} /> : null}
    </>
  );
}

function MoveDialog({
  execution,
  onClose,
}: MoveProps & { readonly onClose: () => void }): ReactNode {
  const { id, pipeline, release } = execution;
  const act = useAct();
  // From where it was when somebody decided, or not at all.
  const [from] = useState(release ?? null);
  const [to, setTo] = useState('');
  const [reason, setReason] = useState('');
  const [toId, reasonId] = [useId(), useId()];
  const read = useRead(requestTo('GET /v1/pipelines/:pipeline/releases', { pipeline }));
  const others = (read.data?.items ?? []).filter(
    ({ name, state }) => name !== from && state !== 'retired',
  );
  return (
    <Dialog title="Move it to another release" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          const move = { id, to, from, ...reasoned(reason) };
          act.mutate(requestTo('POST /v1/executions/:id/move', move), { onSuccess: onClose });
        }}
      >
        <p>
          {from === null ? 'It is pinned to nothing.' : `It is pinned to ${from}.`} Workers of the
          other release take it from then on. Whether its history fits their code, a preflight says.
        </p>
        <Shown of={read}>
          <label htmlFor={toId}>To</label>
          <select id={toId} required value={to} onChange={(event) => setTo(event.target.value)}>
            <option value="">
              {others.length === 0 ? 'there is no other release' : 'choose one'}
            </option>
            {others.map(({ name, state }) => (
              <option key={name} value={name}>
                {name} ({state})
              </option>
            ))}
          </select>
        </Shown>
        <label htmlFor={reasonId}>
          Reason <span className="about">(kept in the audit)</span>
        </label>
        <input
          id={reasonId}
          value={reason}
          maxLength={1_024}
          onChange={(event) => setReason(event.target.value)}
        />
        <ProblemNote error={act.error} />
        <div className="dialog-acts">
          <button type="button" className="quiet" onClick={onClose}>
            Leave it
          </button>
          <button type="submit" className="primary" disabled={act.isPending}>
            Move it
          </button>
        </div>
      </form>
    </Dialog>
  );
}
