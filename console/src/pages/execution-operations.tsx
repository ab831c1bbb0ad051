// The buttons and dialogs for one execution.

import { type ReactNode, useId, useState } from 'react';
import type { DeadLetterMessage } from '../../../src/features/repair/messages.ts';
import type { ExecutionInFull } from '../../../src/protocol/messages/execution.ts';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import { type Read, useMay, useOperation, useRead } from '../api/reads.ts';
import { ENDED } from '../model/statuses.ts';
import {
  Dialog,
  DialogActions,
  DialogButton,
  OperationButton,
  ReasonField,
  reasoned,
} from '../parts/dialog.tsx';
import { ExecutionLink } from '../parts/marks.tsx';
import { ProblemNote } from '../parts/notes.tsx';
import { showToast } from '../parts/toast.tsx';
import { useValueFields } from '../parts/value-fields.tsx';
import { go } from '../router.tsx';
import { CompensationOperations } from './compensation.tsx';
import { RepinButton } from './execution-repin.tsx';
import { StartButton, useInputSchema } from './start-dialog.tsx';

export function ExecutionOperations({
  execution,
}: {
  readonly execution: ExecutionInFull;
}): ReactNode {
  const may = useMay();
  const mayOperate = may.operate;
  const mayCancel = mayOperate || may.submit;
  const isEnded = ENDED.has(execution.status);
  return (
    <>
      {mayOperate ? <NoteButton id={execution.id} /> : null}
      {mayOperate && !isEnded ? <HoldButton execution={execution} /> : null}
      {mayOperate && !isEnded ? <SignalButton id={execution.id} /> : null}
      {mayOperate && execution.status === 'waiting' && execution.compensating ? (
        <CompensationOperations id={execution.id} />
      ) : null}
      {may.admin && !isEnded && execution.release !== undefined ? (
        <RepinButton execution={execution} />
      ) : null}
      {isEnded && execution.sealed !== true ? (
        <StartButton
          label="Start with edited input…"
          pipeline={execution.pipeline}
          input={execution.input}
        />
      ) : null}
      {mayCancel && !isEnded ? <CancelButton id={execution.id} /> : null}
      {isEnded ? <EraseButton execution={execution} /> : null}
      {mayOperate && REDRIVABLE.has(execution.status) && execution.erased === undefined ? (
        <RedriveButton execution={execution} />
      ) : null}
    </>
  );
}

function HoldButton({ execution }: { readonly execution: ExecutionInFull }): ReactNode {
  const { id, holds } = execution;
  const isHeld = holds.includes('paused') || holds.includes('blocked');
  const verb = isHeld ? 'resume' : 'pause';
  return (
    <OperationButton
      label={isHeld ? 'Resume…' : 'Pause…'}
      ask={{
        title: isHeld ? 'Resume execution' : 'Pause execution',
        sentence: isHeld
          ? 'Workers can claim the execution again; it continues where it stopped.'
          : 'No worker will claim the execution until it is resumed. A worker running it now is asked to stop.',
        verb: isHeld ? 'Resume execution' : 'Pause execution',
        operation: (reason) =>
          requestTo(`POST /v1/executions/:id/${verb}`, { id, ...reasoned(reason) }),
        done: isHeld ? 'Execution resumed' : 'Execution paused',
        // A resume cannot be undone: a worker may have continued at once.
        ...(isHeld ? {} : { undo: requestTo('POST /v1/executions/:id/resume', { id }) }),
      }}
    />
  );
}

function CancelButton({ id }: { readonly id: string }): ReactNode {
  return (
    <OperationButton
      label="Cancel…"
      className="danger"
      ask={{
        title: 'Cancel execution?',
        sentence:
          'The execution ends now. Completed steps that define a compensation are compensated in reverse order.',
        verb: 'Cancel execution',
        dismiss: 'Keep running',
        isDanger: true,
        operation: (reason) =>
          requestTo('POST /v1/executions/:id/cancel', { id, ...reasoned(reason) }),
      }}
    />
  );
}

interface Erasable {
  readonly execution: Pick<ExecutionInFull, 'id' | 'erased'>;
}

/** For an ended execution, in the store or in the archive. */
export function EraseButton({ execution: { id, erased } }: Erasable): ReactNode {
  const { admin } = useMay();
  const isDone = erased !== undefined && erased.pending === undefined;
  if (!admin || isDone) return null;
  return (
    <OperationButton
      label={erased === undefined ? 'Erase values…' : 'Finish erasure…'}
      className="danger"
      ask={{
        title: 'Erase values?',
        sentence:
          'Input, results, messages, answers, attachments, log lines and texts of errors are removed for good. Steps, times and digests stay. Children and re-drives keep their own values, and backups are not changed.',
        verb: 'Erase values',
        dismiss: 'Keep values',
        isDanger: true,
        needsReason: true,
        operation: (reason) => requestTo('POST /v1/executions/:id/erase', { id, reason }),
        done: 'Values erased',
      }}
    />
  );
}

/** Not `compensated`: nothing is left to continue from. */
const REDRIVABLE: ReadonlySet<string> = new Set(['failed', 'cancelled', 'quarantined']);

const HAS_DEAD_LETTER: ReadonlySet<string> = new Set(['failed', 'quarantined']);

/** Its dead letter, which names the execution that re-drives it, if there is one. */
export function useDeadLetter(id: string, status: string | undefined): Read<DeadLetterMessage> {
  const isEnabled = status !== undefined && HAS_DEAD_LETTER.has(status);
  return useRead(requestTo('GET /v1/dead-letters/:id', { id }), { isEnabled });
}

function RedriveButton({ execution }: { readonly execution: ExecutionInFull }): ReactNode {
  const { id, status, compensating: isUndoing } = execution;
  const redrivenBy = useDeadLetter(id, status).data?.redrivenBy;
  const verb = isUndoing ? 'Retry compensation' : 'Re-drive execution';
  return (
    <RedriveOpener
      label={`${isUndoing ? 'Retry compensation' : 'Re-drive'}${redrivenBy === undefined ? '' : ' again'}…`}
      className={redrivenBy === undefined ? 'primary' : ''}
      execution={execution}
      verb={verb}
      {...(isUndoing ? { mode: 'compensate' } : {})}
      sentence={
        <>
          {redrivenBy === undefined ? null : (
            <>
              Already re-driven as <ExecutionLink id={redrivenBy} />. Work done there will be
              repeated.{' '}
            </>
          )}
          {isUndoing
            ? 'Starts a new execution that finishes the compensation.'
            : 'Starts a new execution that reuses recorded results and resumes at the failed step.'}
        </>
      }
    />
  );
}

/** Statuses from which a step can run again: nothing was undone. */
const REPEATABLE: ReadonlySet<string> = new Set(['completed', 'failed', 'cancelled']);

interface RedriveFromProps {
  readonly execution: ExecutionInFull;
  /** The key of a call, such as `step:charge#1`. */
  readonly call: string;
  readonly step: string;
}

export function RedriveFromButton({ execution, call, step }: RedriveFromProps): ReactNode {
  const { operate } = useMay();
  if (!operate || !REPEATABLE.has(execution.status) || execution.erased) return null;
  return (
    <RedriveOpener
      label="Re-drive from here…"
      className=""
      execution={execution}
      from={call}
      verb={`Re-drive from ${step}`}
      sentence={`Starts a new execution. It reuses the recorded results before ${step}, and runs ${step} and everything after it again.`}
    />
  );
}

interface RedriveProps {
  readonly execution: ExecutionInFull;
  /** Title and button of the dialog. */
  readonly verb: string;
  readonly sentence: ReactNode;
  readonly from?: string;
  readonly mode?: 'compensate';
}

function RedriveOpener({
  label,
  className,
  ...redrive
}: RedriveProps & { readonly label: string; readonly className: string }): ReactNode {
  return (
    <DialogButton label={label} className={className}>
      {(onClose) => <RedriveDialog {...redrive} onClose={onClose} />}
    </DialogButton>
  );
}

function RedriveDialog(props: RedriveProps & { readonly onClose: () => void }): ReactNode {
  const { execution, verb, sentence, from, mode, onClose } = props;
  const { id, pipeline, input, sealed } = execution;
  const operation = useOperation<{ readonly id: string }>();
  const { submit } = useMay();
  const [reason, setReason] = useState('');
  const [isEdited, setEdited] = useState(false);
  const value = useValueFields({
    ...{ label: 'Input', initial: input, rows: 8, hasJson: true },
    schema: useInputSchema(pipeline, isEdited),
  });
  const mayEdit = submit && mode === undefined && sealed !== true;
  const redrive = (edit: { readonly input?: unknown }): void => {
    const body = { id, ...reasoned(reason), ...(from && { from }), ...(mode && { mode }), ...edit };
    operation.mutate(requestTo('POST /v1/executions/:id/redrive', body), {
      onSuccess: (made) => {
        onClose();
        showToast({ text: 'Re-drive started' });
        go(`/executions/${made.id}`);
      },
    });
  };
  return (
    <Dialog title={verb} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (isEdited) value.send((typed) => redrive(typed === undefined ? {} : { input: typed }));
          else redrive({});
        }}
      >
        <p>{sentence}</p>
        {mayEdit ? (
          <label className={isEdited ? 'chip chip-on' : 'chip'}>
            <input type="checkbox" checked={isEdited} onChange={() => setEdited(!isEdited)} />
            Edit input
          </label>
        ) : null}
        {isEdited ? (
          <>
            <p className="about">
              Recorded results stay as they are, although they were made with the old input. Steps
              that run again send the same idempotency keys.
            </p>
            {value.fields}
          </>
        ) : null}
        <ReasonField value={reason} onType={setReason} />
        <ProblemNote error={value.problem ?? operation.error} />
        <DialogActions verb={verb} onClose={onClose} isPending={operation.isPending} />
      </form>
    </Dialog>
  );
}

function NoteButton({ id }: { readonly id: string }): ReactNode {
  return (
    <OperationButton
      label="Add note…"
      ask={{
        title: 'Add note',
        sentence: 'Saved in the audit log. The execution is not affected.',
        verb: 'Save note',
        needsReason: true,
        operation: (text) => requestTo('POST /v1/executions/:id/notes', { id, text }),
      }}
    />
  );
}

function SignalButton({ id }: { readonly id: string }): ReactNode {
  return (
    <DialogButton label="Signal…">
      {(onClose) => <SignalDialog id={id} onClose={onClose} />}
    </DialogButton>
  );
}

function SignalDialog({
  id,
  onClose,
}: {
  readonly id: string;
  readonly onClose: () => void;
}): ReactNode {
  const operation = useOperation();
  const [name, setName] = useState('');
  const payload = useValueFields({ label: 'Payload', isOptional: true });
  const nameId = useId();
  const send = (value: unknown): void => {
    const body = value === undefined ? {} : { value };
    const request = requestTo('POST /v1/executions/:id/signals', { id, name, ...body });
    operation.mutate(request, { onSuccess: onClose });
  };
  return (
    <Dialog title="Send signal" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          payload.send(send);
        }}
      >
        <p>
          Delivers a named message to the pipeline code; it is stored until the code receives it.
        </p>
        <label htmlFor={nameId}>Name</label>
        <input
          id={nameId}
          required
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
        {payload.fields}
        <ProblemNote error={payload.problem ?? operation.error} />
        <DialogActions verb="Send signal" onClose={onClose} isPending={operation.isPending} />
      </form>
    </Dialog>
  );
}
