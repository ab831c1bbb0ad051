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

interface ReasonProps {
  readonly value: string;
  readonly onType: (reason: string) => void;
  readonly isRequired?: boolean | undefined;
  /** The place that records the reason. */
  readonly log?: string;
}

export function ReasonField({
  value,
  onType,
  isRequired = false,
  log = 'audit log',
}: ReasonProps): ReactNode {
  const id = useId();
  return (
    <>
      <label htmlFor={id}>
        Reason{' '}
        <span className="about">
          ({isRequired ? 'required, ' : ''}recorded in the {log})
        </span>
      </label>
      <input
        id={id}
        value={value}
        required={isRequired}
        maxLength={1_024}
        onChange={(event) => onType(event.target.value)}
      />
    </>
  );
}

interface ActionsProps {
  /** The label of the button that submits. */
  readonly verb: string;
  readonly onClose: () => void;
  readonly isPending: boolean;
  /** Something is missing yet. */
  readonly isDisabled?: boolean;
  readonly isDanger?: boolean | undefined;
  readonly dismiss?: string | undefined;
}

export function DialogActions({
  verb,
  onClose,
  isPending,
  isDisabled = false,
  isDanger = false,
  dismiss = 'Cancel',
}: ActionsProps): ReactNode {
  return (
    <div className="dialog-actions">
      <button type="button" className="quiet" onClick={onClose}>
        {dismiss}
      </button>
      <button
        type="submit"
        className={isDanger ? 'danger' : 'primary'}
        disabled={isPending || isDisabled}
      >
        {isPending ? 'Working…' : verb}
      </button>
    </div>
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
          <ReasonField value={reason} onType={setReason} isRequired={ask.needsReason} />
        )}
        <ProblemNote error={operation.error} />
        <DialogActions
          verb={ask.verb}
          onClose={onClose}
          isPending={operation.isPending}
          dismiss={ask.dismiss}
          isDanger={ask.isDanger}
        />
      </form>
    </Dialog>
  );
}

interface ButtonProps {
  readonly label: string;
  readonly className?: string;
}

/** A button that opens a dialog. */
export function DialogButton({
  label,
  className = '',
  children,
}: ButtonProps & { readonly children: (onClose: () => void) => ReactNode }): ReactNode {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button type="button" className={className} onClick={() => setOpen(true)}>
        {label}
      </button>
      {isOpen ? children(() => setOpen(false)) : null}
    </>
  );
}

export function OperationButton({
  ask,
  ...button
}: ButtonProps & { readonly ask: Ask }): ReactNode {
  return (
    <DialogButton {...button}>
      {(onClose) => <OperationDialog ask={ask} onClose={onClose} />}
    </DialogButton>
  );
}

export function reasoned(reason: string): { readonly reason?: string } {
  return reason.trim() === '' ? {} : { reason: reason.trim() };
}
