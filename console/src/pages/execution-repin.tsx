// The dialog that repins an execution to another release.

import { type ReactNode, useId, useState } from 'react';
import type { ExecutionInFull } from '../../../src/protocol/messages/execution.ts';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import { useOperation, useRead } from '../api/reads.ts';
import { Dialog, DialogActions, DialogButton, ReasonField, reasoned } from '../parts/dialog.tsx';
import { ProblemNote, Shown } from '../parts/notes.tsx';

interface RepinProps {
  readonly execution: ExecutionInFull;
}

export function RepinButton({ execution }: RepinProps): ReactNode {
  return (
    <DialogButton label="Repin…">
      {(onClose) => <RepinDialog execution={execution} onClose={onClose} />}
    </DialogButton>
  );
}

function RepinDialog({
  execution,
  onClose,
}: RepinProps & { readonly onClose: () => void }): ReactNode {
  const { id, pipeline, release } = execution;
  const operation = useOperation();
  // The repin is refused if another one changed the release since the dialog opened.
  const [from] = useState(release ?? null);
  const [to, setTo] = useState('');
  const [reason, setReason] = useState('');
  const toId = useId();
  const read = useRead(requestTo('GET /v1/pipelines/:pipeline/releases', { pipeline }));
  const others = (read.data?.items ?? []).filter(
    ({ name, state }) => name !== from && state !== 'retired',
  );
  return (
    <Dialog title="Repin to another release" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          const repin = { id, to, from, ...reasoned(reason) };
          operation.mutate(requestTo('POST /v1/executions/:id/repin', repin), {
            onSuccess: onClose,
          });
        }}
      >
        <p>
          {from === null ? 'Not pinned.' : `Pinned to ${from}.`} Workers on the new release will
          claim it. Run a preflight to check that its history is compatible.
        </p>
        <Shown of={read}>
          <label htmlFor={toId}>To</label>
          <select id={toId} required value={to} onChange={(event) => setTo(event.target.value)}>
            <option value="">
              {others.length === 0 ? 'No other release' : 'Select a release'}
            </option>
            {others.map(({ name, state }) => (
              <option key={name} value={name}>
                {name} ({state})
              </option>
            ))}
          </select>
        </Shown>
        <ReasonField value={reason} onType={setReason} />
        <ProblemNote error={operation.error} />
        <DialogActions verb="Repin execution" onClose={onClose} isPending={operation.isPending} />
      </form>
    </Dialog>
  );
}
