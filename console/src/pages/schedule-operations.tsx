// The buttons and dialogs of schedules: run now, fill past times, create, edit, pause and delete.

import { type ReactNode, useState } from 'react';
import type { ScheduleMessage } from '../../../src/features/schedules/messages.ts';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import { useMay, useOperation } from '../api/reads.ts';
import { plural } from '../model/words.ts';
import { Dialog, DialogActions, DialogButton, OperationButton } from '../parts/dialog.tsx';
import { ExecutionLink } from '../parts/marks.tsx';
import { ProblemNote } from '../parts/notes.tsx';
import { TimeInput } from '../parts/time-input.tsx';
import { showToast } from '../parts/toast.tsx';
import { go } from '../router.tsx';
import { OVERLAPS, ScheduleDialog, SelectField } from './schedule-form.tsx';

interface OfSchedule {
  readonly schedule: ScheduleMessage;
}

interface InDialog extends OfSchedule {
  readonly onClose: () => void;
}

/** Runs and writes of a schedule decide what is submitted, so they need both roles. */
export function ScheduleOperations({ schedule }: OfSchedule): ReactNode {
  const { operate, submit } = useMay();
  if (!operate) return null;
  return (
    <span className="actions">
      {submit ? (
        <>
          <DialogButton label="Run now…">
            {(onClose) => <RunDialog schedule={schedule} onClose={onClose} />}
          </DialogButton>
          <DialogButton label="Backfill…">
            {(onClose) => <BackfillDialog schedule={schedule} onClose={onClose} />}
          </DialogButton>
          <DialogButton label="Edit…">
            {(onClose) => <ScheduleDialog schedule={schedule} onClose={onClose} />}
          </DialogButton>
        </>
      ) : null}
      <PauseButton schedule={schedule} />
      <DeleteButton schedule={schedule} />
    </span>
  );
}

/** These run one execution at a time, by a slot that executions of other schedules do not have. */
const IN_TURN: ReadonlySet<string> = new Set(['buffer', 'cancel']);
const AT_ONCE = { skip: OVERLAPS.skip, allow: OVERLAPS.allow } as typeof OVERLAPS;

function RunDialog({ schedule, onClose }: InDialog): ReactNode {
  const { id, overlap } = schedule;
  const operation = useOperation<{ readonly id?: string; readonly open?: string }>();
  const [chosen, setChosen] = useState(overlap);
  const open = operation.data?.open;
  return (
    <Dialog title={`Run ${id} now`} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          const body = { id, overlap: chosen };
          operation.mutate(requestTo('POST /v1/schedules/:id/trigger', body), {
            onSuccess: (made) => {
              if (made.id !== undefined) go(`/executions/${made.id}`);
            },
          });
        }}
      >
        <p>
          Starts one execution with the input and the options of the schedule. Its next runs stay as
          they are.
        </p>
        <SelectField
          label="If its last execution is still open"
          options={IN_TURN.has(overlap) ? OVERLAPS : AT_ONCE}
          value={chosen}
          onChoose={setChosen}
        />
        {open === undefined ? null : (
          <p className="problem" role="alert">
            Nothing was started: <ExecutionLink id={open} /> is still open. Choose another way
            above, or wait until it has ended.
          </p>
        )}
        <ProblemNote error={operation.error} />
        <DialogActions verb="Run schedule" onClose={onClose} isPending={operation.isPending} />
      </form>
    </Dialog>
  );
}

const DAY_MS = 86_400_000;

function BackfillDialog({ schedule: { id }, onClose }: InDialog): ReactNode {
  const operation = useOperation<{ readonly times: number; readonly submitted: number }>();
  const [openedMs] = useState(() => Date.now());
  const [from, setFrom] = useState<string | undefined>(new Date(openedMs - DAY_MS).toISOString());
  const [to, setTo] = useState<string | undefined>(new Date(openedMs).toISOString());
  return (
    <Dialog title={`Backfill ${id}`} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (from === undefined || to === undefined) return;
          operation.mutate(requestTo('POST /v1/schedules/:id/backfill', { id, from, to }), {
            onSuccess: ({ times, submitted }) => {
              onClose();
              const some = `${plural(times, 'scheduled time')} in the range`;
              showToast({ text: `${some}, ${plural(submitted, 'execution')} started` });
            },
          });
        }}
      >
        <p>
          Starts one execution for each scheduled time in the range, oldest first. A time that has
          an execution gets no second one. At most 1,000 times.
        </p>
        <TimeInput label="From" at={from} isRequired onType={setFrom} />
        <TimeInput label="To" at={to} isRequired onType={setTo} />
        <ProblemNote error={operation.error} />
        <DialogActions verb="Start executions" onClose={onClose} isPending={operation.isPending} />
      </form>
    </Dialog>
  );
}

function PauseButton({ schedule: { id, paused } }: OfSchedule): ReactNode {
  const verb = paused ? 'resume' : 'pause';
  return (
    <OperationButton
      label={paused ? 'Resume…' : 'Pause…'}
      ask={{
        title: `${paused ? 'Resume' : 'Pause'} ${id}`,
        sentence: paused ? 'Runs resume at the next scheduled time.' : 'No runs until resumed.',
        verb: paused ? 'Resume schedule' : 'Pause schedule',
        done: paused ? 'Schedule resumed' : 'Schedule paused',
        needsReason: 'none',
        undo: requestTo(`POST /v1/schedules/:id/${paused ? 'pause' : 'resume'}`, { id }),
        operation: () => requestTo(`POST /v1/schedules/:id/${verb}`, { id }),
      }}
    />
  );
}

function DeleteButton({ schedule: { id } }: OfSchedule): ReactNode {
  return (
    <OperationButton
      label="Delete…"
      className="danger"
      ask={{
        title: `Delete ${id}?`,
        sentence:
          'It starts no more executions. Those that it started continue. To stop it for a while, pause it instead.',
        verb: 'Delete schedule',
        done: 'Schedule deleted',
        isDanger: true,
        needsReason: 'none',
        operation: () => requestTo('DELETE /v1/schedules/:id', { id }),
      }}
    />
  );
}
