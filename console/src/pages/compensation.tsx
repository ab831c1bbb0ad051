// Retries or skips a compensation that fails and is tried again.

import { type ReactNode, useId, useState } from 'react';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import { useHistory } from '../api/history.ts';
import { useOperation } from '../api/reads.ts';
import { Dialog, DialogActions, DialogButton, ReasonField, reasoned } from '../parts/dialog.tsx';
import { ProblemNote } from '../parts/notes.tsx';

export function CompensationOperations({ id }: { readonly id: string }): ReactNode {
  return (
    <>
      <DialogButton label="Retry now…">
        {(onClose) => <CompensationDialog id={id} verb="retry" onClose={onClose} />}
      </DialogButton>
      <DialogButton label="Skip…">
        {(onClose) => <CompensationDialog id={id} verb="skip" onClose={onClose} />}
      </DialogButton>
    </>
  );
}

/** Steps whose compensation has failed, the latest last: the dialog suggests that one. */
function useFailedCompensations(id: string): readonly string[] {
  const { events } = useHistory(id, false, 'dialog');
  const names = events.flatMap(({ kind, name, body }) => {
    const { key = '' } = (body ?? {}) as { readonly key?: string };
    return kind === 'step-failed' && key.startsWith('undo:') && name !== undefined ? [name] : [];
  });
  return [...new Set(names.toReversed())].toReversed();
}

function CompensationDialog({
  id,
  verb,
  onClose,
}: {
  readonly id: string;
  readonly verb: 'retry' | 'skip';
  readonly onClose: () => void;
}): ReactNode {
  const operation = useOperation();
  const failed = useFailedCompensations(id);
  const [typed, setStep] = useState<string>();
  const step = typed ?? failed.at(-1) ?? '';
  const [reason, setReason] = useState('');
  const stepId = useId();
  return (
    <Dialog title={verb === 'retry' ? 'Retry compensation' : 'Skip compensation'} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          const request =
            verb === 'skip'
              ? requestTo('POST /v1/executions/:id/skip-compensation', { id, step, reason })
              : requestTo('POST /v1/executions/:id/retry-compensation', {
                  ...{ id, step, ...reasoned(reason) },
                });
          operation.mutate(request, { onSuccess: onClose });
        }}
      >
        <label htmlFor={stepId}>Step</label>
        <input
          id={stepId}
          required
          list={`${stepId}-failed`}
          value={step}
          onChange={(event) => setStep(event.target.value)}
        />
        <datalist id={`${stepId}-failed`}>
          {failed.map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
        <ReasonField value={reason} onType={setReason} isRequired={verb === 'skip'} />
        <ProblemNote error={operation.error} />
        <DialogActions
          verb={verb === 'retry' ? 'Retry' : 'Skip'}
          onClose={onClose}
          isPending={operation.isPending}
        />
      </form>
    </Dialog>
  );
}
