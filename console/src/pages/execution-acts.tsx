// What people do to one execution.

import { type ReactNode, useId, useState } from 'react';
import type { ExecutionInFull } from '../../../src/protocol/messages/execution.ts';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import { useAct, useMay, useRead } from '../api/reads.ts';
import { ENDED } from '../model/statuses.ts';
import { ActButton, Dialog, reasoned } from '../parts/dialog.tsx';
import { ExecutionLink } from '../parts/marks.tsx';
import { ProblemNote } from '../parts/notes.tsx';
import { go } from '../router.tsx';
import { MoveButton } from './execution-move.tsx';

export function ExecutionActs({ execution }: { readonly execution: ExecutionInFull }): ReactNode {
  const may = useMay();
  const mayOperate = may.operate;
  const mayCancel = mayOperate || may.submit;
  const isEnded = ENDED.has(execution.status);
  return (
    <>
      {mayOperate ? <NoteButton id={execution.id} /> : null}
      {mayOperate && !isEnded ? <HoldButton execution={execution} /> : null}
      {mayOperate && !isEnded ? <SignalButton id={execution.id} /> : null}
      {may.admin && !isEnded && execution.release !== undefined ? (
        <MoveButton execution={execution} />
      ) : null}
      {mayCancel && !isEnded ? <CancelButton id={execution.id} /> : null}
      {mayOperate && DRIVABLE.has(execution.status) ? (
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
    <ActButton
      label={isHeld ? 'Resume…' : 'Pause…'}
      ask={{
        title: isHeld ? 'Resume it' : 'Pause it',
        sentence: isHeld
          ? 'It may be claimed again, and goes on where it is.'
          : 'No worker takes it until it is resumed. One that runs now is asked to let go.',
        verb: isHeld ? 'Resume' : 'Pause',
        act: (reason) => requestTo(`POST /v1/executions/:id/${verb}`, { id, ...reasoned(reason) }),
      }}
    />
  );
}

function CancelButton({ id }: { readonly id: string }): ReactNode {
  return (
    <ActButton
      label="Cancel…"
      className="danger"
      ask={{
        title: 'Cancel it',
        sentence: 'It ends. Steps that say how they are undone are undone, in reverse.',
        verb: 'Cancel the execution',
        isDanger: true,
        act: (reason) => requestTo('POST /v1/executions/:id/cancel', { id, ...reasoned(reason) }),
      }}
    />
  );
}

/** What was undone whole has nothing left to go on from. */
const DRIVABLE: ReadonlySet<string> = new Set(['failed', 'cancelled', 'quarantined']);

const LETTERED: ReadonlySet<string> = new Set(['failed', 'quarantined']);

/** Who drives it again, if somebody does or did. */
export function useRedriven({ id, status }: ExecutionInFull): string | undefined {
  const isEnabled = LETTERED.has(status);
  return useRead(requestTo('GET /v1/dead-letters/:id', { id }), { isEnabled }).data?.redrivenBy;
}

function RedriveButton({ execution }: { readonly execution: ExecutionInFull }): ReactNode {
  const { id, status } = execution;
  const redrivenBy = useRedriven(execution);
  const isUndoing = status === 'quarantined';
  const mode = isUndoing ? ({ mode: 'compensate' } as const) : {};
  return (
    <ActButton
      label={`${isUndoing ? 'Undo the rest' : 'Re-drive'}${redrivenBy === undefined ? '' : ' again'}…`}
      className={redrivenBy === undefined ? 'primary' : ''}
      ask={{
        title: isUndoing ? 'Undo the rest' : 'Drive it again',
        sentence: (
          <>
            {redrivenBy === undefined ? null : (
              <>
                It was driven again before: <ExecutionLink id={redrivenBy} />. What that one did is
                done once more.{' '}
              </>
            )}
            {isUndoing
              ? 'A new execution undoes what this one could not.'
              : 'A new execution reuses what was recorded, and goes on at the step that failed.'}
          </>
        ),
        verb: isUndoing ? 'Undo' : 'Re-drive',
        act: (reason) =>
          requestTo('POST /v1/executions/:id/redrive', { id, ...mode, ...reasoned(reason) }),
        after: (answer) => go(`/executions/${(answer as { readonly id: string }).id}`),
      }}
    />
  );
}

function NoteButton({ id }: { readonly id: string }): ReactNode {
  return (
    <ActButton
      label="Note…"
      ask={{
        title: 'Write a note',
        sentence: 'It is kept with the audit; nothing of the execution changes.',
        verb: 'Keep the note',
        needsReason: true,
        act: (text) => requestTo('POST /v1/executions/:id/notes', { id, text }),
      }}
    />
  );
}

function SignalButton({ id }: { readonly id: string }): ReactNode {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button type="button" onClick={() => setOpen(true)}>
        Signal…
      </button>
      {isOpen ? <SignalDialog id={id} onClose={() => setOpen(false)} /> : null}
    </>
  );
}

function SignalDialog({
  id,
  onClose,
}: {
  readonly id: string;
  readonly onClose: () => void;
}): ReactNode {
  const act = useAct();
  const [name, setName] = useState('');
  const [text, setText] = useState('');
  const [problem, setProblem] = useState<Error>();
  const [nameId, valueId] = [useId(), useId()];
  const send = (): void => {
    try {
      const value = text.trim() === '' ? {} : { value: JSON.parse(text) as unknown };
      setProblem(undefined);
      const request = requestTo('POST /v1/executions/:id/signals', { id, name, ...value });
      act.mutate(request, { onSuccess: onClose });
    } catch (error) {
      setProblem(error instanceof Error ? error : new Error(String(error)));
    }
  };
  return (
    <Dialog title="Send a signal" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          send();
        }}
      >
        <p>A named message to its code, kept until the code asks for it.</p>
        <label htmlFor={nameId}>Name</label>
        <input
          id={nameId}
          required
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
        <label htmlFor={valueId}>
          Value <span className="about">(JSON, if any)</span>
        </label>
        <textarea
          id={valueId}
          rows={4}
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <ProblemNote error={problem ?? act.error} />
        <div className="dialog-acts">
          <button type="button" className="quiet" onClick={onClose}>
            Leave it
          </button>
          <button type="submit" className="primary" disabled={act.isPending}>
            Send
          </button>
        </div>
      </form>
    </Dialog>
  );
}
