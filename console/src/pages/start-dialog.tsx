// Starts an execution: a new one, or one with the input of another, edited.

import { type ReactNode, useId, useState } from 'react';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import { useOverview } from '../api/overview.ts';
import { useMay, useOperation, useRead } from '../api/reads.ts';
import { Dialog, DialogActions, DialogButton } from '../parts/dialog.tsx';
import { ProblemNote } from '../parts/notes.tsx';
import { useValueFields } from '../parts/value-fields.tsx';
import { go } from '../router.tsx';

interface StartProps {
  readonly label: string;
  readonly pipeline?: string;
  readonly input?: unknown;
}

export function StartButton({ label, ...start }: StartProps): ReactNode {
  const { submit } = useMay();
  if (!submit) return null;
  return (
    <DialogButton label={label}>
      {(onClose) => <StartDialog {...start} onClose={onClose} />}
    </DialogButton>
  );
}

interface StartDialogProps extends Omit<StartProps, 'label'> {
  readonly onClose: () => void;
}

function StartDialog({ pipeline: first = '', input, onClose }: StartDialogProps): ReactNode {
  const known = usePipelines();
  const operation = useOperation<{ readonly id: string }>();
  const [pipeline, setPipeline] = useState(first);
  const [key, setKey] = useState('');
  const value = useValueFields({
    ...{ label: 'Input', isOptional: true, initial: input, rows: 8, hasJson: true },
    schema: useInputSchema(pipeline, known.includes(pipeline) || pipeline === first),
  });
  const keyId = useId();
  const start = (typed: unknown): void => {
    const body = {
      pipeline,
      ...(typed === undefined ? {} : { input: typed }),
      ...(key.trim() === '' ? {} : { key: key.trim() }),
    };
    operation.mutate(requestTo('POST /v1/executions', body), {
      onSuccess: ({ id }) => go(`/executions/${id}`),
    });
  };
  return (
    <Dialog title="Start execution" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          value.send(start);
        }}
      >
        <PipelineField value={pipeline} onType={setPipeline} />
        {value.fields}
        <label htmlFor={keyId}>
          Idempotency key <span className="about">(optional)</span>
        </label>
        <input id={keyId} value={key} onChange={(event) => setKey(event.target.value)} />
        <ProblemNote error={value.problem ?? operation.error} />
        <DialogActions verb="Start execution" onClose={onClose} isPending={operation.isPending} />
      </form>
    </Dialog>
  );
}

/** Pipelines with executions, and those of workers. */
function usePipelines(): readonly string[] {
  const { data: overview } = useOverview();
  const { data: workers } = useRead(requestTo('GET /v1/workers', { limit: 200 }));
  const used = overview?.pipelines.map(({ pipeline }) => pipeline) ?? [];
  const served = workers?.items.flatMap(({ pipelines = [] }) => pipelines) ?? [];
  return [...new Set([...used, ...served])].sort();
}

interface PipelineProps {
  readonly value: string;
  readonly onType: (pipeline: string) => void;
}

/** Any name, with the known pipelines as suggestions. */
export function PipelineField({ value, onType }: PipelineProps): ReactNode {
  const known = usePipelines();
  const id = useId();
  return (
    <>
      <label htmlFor={id}>Pipeline</label>
      <input
        id={id}
        required
        list={`${id}-known`}
        value={value}
        onChange={(event) => onType(event.target.value)}
      />
      <datalist id={`${id}-known`}>
        {known.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </>
  );
}

/** The schema of the active release, or else of a worker. */
export function useInputSchema(pipeline: string, isKnown: boolean): unknown {
  const { data } = useRead(requestTo('GET /v1/pipelines/:pipeline/input', { pipeline }), {
    isEnabled: isKnown && pipeline !== '',
  });
  return data?.input;
}
