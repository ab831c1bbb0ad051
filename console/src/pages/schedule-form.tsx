// The form that creates or changes a schedule.

import { type ReactNode, useId, useState } from 'react';
import type { ScheduleBody, ScheduleMessage } from '../../../src/features/schedules/messages.ts';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import { useOperation } from '../api/reads.ts';
import { Dialog, DialogActions } from '../parts/dialog.tsx';
import { ProblemNote } from '../parts/notes.tsx';
import { showToast } from '../parts/toast.tsx';
import { useValueFields } from '../parts/value-fields.tsx';
import { PipelineField, useInputSchema } from './start-dialog.tsx';

export const OVERLAPS = {
  skip: 'Skip: start nothing',
  buffer: 'Buffer: start one when it has ended',
  cancel: 'Cancel it, and start after it',
  allow: 'Allow: start at once',
} as const;

const CATCH_UPS = {
  one: 'Run the last one',
  all: 'Run all, at most 1,000',
  none: 'Run none',
} as const;

const KINDS = { cron: 'By cron', every: 'At an interval' } as const;

interface SelectProps<Value extends string> {
  readonly label: string;
  readonly options: Readonly<Record<Value, string>>;
  readonly value: Value;
  readonly onChoose: (value: Value) => void;
}

export function SelectField<Value extends string>(props: SelectProps<Value>): ReactNode {
  const { label, options, value, onChoose } = props;
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <select id={id} value={value} onChange={({ target }) => onChoose(target.value as Value)}>
        {Object.entries<string>(options).map(([name, text]) => (
          <option key={name} value={name}>
            {text}
          </option>
        ))}
      </select>
    </div>
  );
}

interface TextProps {
  readonly label: string;
  readonly about?: string;
  readonly value: string;
  readonly onType: (text: string) => void;
  /** Seconds. */
  readonly isNumber?: boolean;
  readonly isOptional?: boolean;
}

function TextField(props: TextProps): ReactNode {
  const { label, about, value, onType, isNumber = false, isOptional = false } = props;
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>
        {label} {about === undefined ? null : <span className="about">({about})</span>}
      </label>
      <input
        id={id}
        required={!isOptional}
        value={value}
        {...(isNumber ? { type: 'number', step: 0.1, min: 0 } : {})}
        onChange={({ target }) => onType(target.value)}
      />
    </div>
  );
}

const SECOND_MS = 1_000;

function secondsText(ms: number | undefined): string {
  return ms === undefined ? '' : String(ms / SECOND_MS);
}

function msOf(seconds: string): number {
  return Math.round(Number(seconds) * SECOND_MS);
}

interface FormProps {
  /** Absent: a new one. */
  readonly schedule?: ScheduleMessage;
  readonly onClose: () => void;
}

export function ScheduleDialog({ schedule, onClose }: FormProps): ReactNode {
  const operation = useOperation();
  const target = schedule?.target;
  const when = schedule?.when;
  const [id, setId] = useState(schedule?.id ?? '');
  const [pipeline, setPipeline] = useState(
    target !== undefined && 'pipeline' in target ? target.pipeline : '',
  );
  const [kind, setKind] = useState<keyof typeof KINDS>(
    when !== undefined && 'every' in when ? 'every' : 'cron',
  );
  const [cron, setCron] = useState(when !== undefined && 'cron' in when ? when.cron : '');
  const [timeZone, setTimeZone] = useState(
    when !== undefined && 'cron' in when ? when.timeZone : ownZone(),
  );
  const [every, setEvery] = useState(
    when !== undefined && 'every' in when ? secondsText(when.every) : '',
  );
  const [overlap, setOverlap] = useState(schedule?.overlap ?? 'skip');
  const [catchUp, setCatchUp] = useState(schedule?.catchUp ?? 'one');
  const [jitter, setJitter] = useState(secondsText(schedule?.jitterMs));
  const [pauseOnFailure, setPauseOnFailure] = useState(schedule?.pauseOnFailure ?? false);
  const isTemplate = target !== undefined && 'template' in target;
  const value = useValueFields({
    ...{ label: 'Input', isOptional: true, initial: schedule?.input, rows: 5, hasJson: true },
    schema: useInputSchema(pipeline, !isTemplate && pipeline !== ''),
  });
  const save = (input: unknown): void => {
    const body: ScheduleBody = {
      ...(kind === 'every' ? { every: msOf(every) } : { cron, timeZone }),
      ...(isTemplate ? target : { pipeline }),
      ...(input === undefined ? {} : { input }),
      ...{ options: schedule?.options ?? {}, overlap, catchUp, pauseOnFailure },
      ...(jitter === '' ? {} : { jitterMs: msOf(jitter) }),
      ifExists: schedule === undefined ? 'refuse' : 'replace',
    };
    operation.mutate(requestTo('PUT /v1/schedules/:id', { id: id.trim(), ...body }), {
      onSuccess: () => {
        onClose();
        showToast({ text: schedule === undefined ? 'Schedule created' : 'Schedule saved' });
      },
    });
  };
  return (
    <Dialog
      title={schedule === undefined ? 'New schedule' : `Edit ${id}`}
      onClose={onClose}
      className="wide"
    >
      <form
        className="field-grid"
        onSubmit={(event) => {
          event.preventDefault();
          value.send(save);
        }}
      >
        {schedule === undefined ? <TextField label="ID" value={id} onType={setId} /> : null}
        {isTemplate ? (
          <p>Template {target.template}</p>
        ) : (
          <div className="field">
            <PipelineField value={pipeline} onType={setPipeline} />
          </div>
        )}
        <SelectField label="Runs" options={KINDS} value={kind} onChoose={setKind} />
        {kind === 'cron' ? (
          <>
            <TextField
              label="Cron"
              about="minute, hour, day of month, month, day of week"
              value={cron}
              onType={setCron}
            />
            <TextField label="Time zone" value={timeZone} onType={setTimeZone} />
          </>
        ) : (
          <TextField label="Every" about="seconds" value={every} onType={setEvery} isNumber />
        )}
        {value.fields}
        <SelectField
          label="If its last execution is still open"
          options={OVERLAPS}
          value={overlap}
          onChoose={setOverlap}
        />
        <SelectField
          label="Runs missed during downtime"
          options={CATCH_UPS}
          value={catchUp}
          onChoose={setCatchUp}
        />
        <TextField
          label="Longest delay of a start"
          about="seconds, optional"
          value={jitter}
          onType={setJitter}
          isNumber
          isOptional
        />
        <label className={pauseOnFailure ? 'chip chip-on' : 'chip'}>
          <input
            type="checkbox"
            checked={pauseOnFailure}
            onChange={() => setPauseOnFailure(!pauseOnFailure)}
          />
          Pause after a failed run
        </label>
        <ProblemNote error={value.problem ?? operation.error} />
        <DialogActions
          verb={schedule === undefined ? 'Create schedule' : 'Save schedule'}
          onClose={onClose}
          isPending={operation.isPending}
        />
      </form>
    </Dialog>
  );
}

function ownZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}
