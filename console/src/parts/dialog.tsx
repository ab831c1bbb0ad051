// Dialogs that confirm an operation: its effect, an optional reason, and the error if it fails. The typed
// text stays after an error.

import { type ReactNode, useEffect, useId, useRef, useState } from 'react';
import { type Operation, useOperation } from '../api/reads.ts';
import { ProblemNote } from './notes.tsx';
import { showToast } from './toast.tsx';

export function Dialog({
  title,
  onClose,
  className,
  children,
}: {
  readonly title: string;
  readonly onClose: () => void;
  readonly className?: string;
  readonly children: ReactNode;
}): ReactNode {
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  return (
    <dialog ref={dialog} className={className} onClose={onClose} aria-labelledby={heading}>
      <h2 id={heading}>{title}</h2>
      {children}
    </dialog>
  );
}

export interface Ask {
  readonly title: string;
  readonly sentence: ReactNode;
  readonly verb: string;
  readonly isDanger?: boolean;
  /** The label of the button that does nothing; `Cancel` by default. */
  readonly dismiss?: string;
  /** The reason is required; by default it is optional. `none`: the operation records none. */
  readonly needsReason?: boolean | 'none';
  readonly operation: (reason: string) => Operation;
  readonly after?: (answer: unknown) => void;
  /** The note after success, such as `Execution paused`. */
  readonly done?: string;
  /** The operation that takes it back, offered in the note. */
  readonly undo?: Operation;
}

export function OperationDialog({
  ask,
  onClose,
}: {
  readonly ask: Ask;
  readonly onClose: () => void;
}): ReactNode {
  const operation = useOperation();
  const [reason, setReason] = useState('');
  const id = useId();
  return (
    <Dialog title={ask.title} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          operation.mutate(ask.operation(reason), {
            onSuccess: (answer) => {
              onClose();
              const { done = `${ask.verb}: done`, undo } = ask;
              showToast({ text: done, ...(undo === undefined ? {} : { undo }) });
              ask.after?.(answer);
            },
          });
        }}
      >
        <p>{ask.sentence}</p>
        {ask.needsReason === 'none' ? null : (
          <>
            <label htmlFor={id}>
              Reason{' '}
              {ask.needsReason ? '' : <span className="about">(recorded in the audit log)</span>}
            </label>
            <input
              id={id}
              value={reason}
              required={ask.needsReason ?? false}
              maxLength={1_024}
              onChange={(event) => setReason(event.target.value)}
            />
          </>
        )}
        <ProblemNote error={operation.error} />
        <div className="dialog-actions">
          <button type="button" className="quiet" onClick={onClose}>
            {ask.dismiss ?? 'Cancel'}
          </button>
          <button
            type="submit"
            className={ask.isDanger ? 'danger' : 'primary'}
            disabled={operation.isPending}
          >
            {operation.isPending ? 'Working…' : ask.verb}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

/** A button that opens the dialog. */
export function OperationButton({
  ask,
  label,
  className = '',
}: {
  readonly ask: Ask;
  readonly label: string;
  readonly className?: string;
}): ReactNode {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button type="button" className={className} onClick={() => setOpen(true)}>
        {label}
      </button>
      {isOpen ? <OperationDialog ask={ask} onClose={() => setOpen(false)} /> : null}
    </>
  );
}

export function reasoned(reason: string): { readonly reason?: string } {
  return reason.trim() === '' ? {} : { reason: reason.trim() };
}
