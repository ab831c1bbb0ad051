// Starts an execution: a new one, or one with the input of another, edited.

import { type ReactNode, useId, useState } from 'react';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import type { SubmitBody } from '../../../src/protocol/messages/submission.ts';
import { useOverview } from '../api/overview.ts';
import { useMay, useOperation, useRead } from '../api/reads.ts';
import { Dialog, DialogActions } from '../parts/dialog.tsx';
import { ProblemNote } from '../parts/notes.tsx';
import { useValueFields } from '../parts/value-fields.tsx';
import { go } from '../router.tsx';

interface StartProps {
  readonly label: string;
  readonly title?: string;
  readonly pipeline?: string;
  readonly input?: unknown;
  /** Submitted with what the user types. A template takes the place of the pipeline. */
  readonly given?: Omit<SubmitBody, 'pipeline' | 'input' | 'key'>;
}

export function StartButton({ label, ...start }: StartProps): ReactNode {
  const { submit } = useMay();
  const [isOpen, setOpen] = useState(false);
  if (!submit) return null;
  return (
    <>
      <button type="button" onClick={() => setOpen(true)}>
        {label}
      </button>
      {isOpen ? <StartDialog {...start} onClose={() => setOpen(false)} /> : null}
    </>
  );
}

interface StartDialogProps extends Omit<StartProps, 'label'> {
  readonly onClose: () => void;
}

function StartDialog(props: StartDialogProps): ReactNode {
  const { title = 'Start execution', pipeline: first = '', input, given, onClose } = props;
  const { data: overview } = useOverview();
  const known = [...new Set(overview?.pipelines.map(({ pipeline }) => pipeline))];
  const operation = useOperation<{ readonly id: string }>();
  const [pipeline, setPipeline] = useState(first);
  const [key, setKey] = useState('');
  const value = useValueFields({
    ...{ label: 'Input', isOptional: true, initial: input, rows: 8, hasJson: true },
    schema: useInputSchema(pipeline, known.includes(pipeline) || pipeline === first),
  });
  const [pipelineId, keyId] = [useId(), useId()];
  const start = (typed: unknown): void => {
    const body = {
      ...given,
      ...(given?.template === undefined ? { pipeline } : {}),
      ...(typed === undefined ? {} : { input: typed }),
      ...(key.trim() === '' ? {} : { key: key.trim() }),
    };
    operation.mutate(requestTo('POST /v1/executions', body), {
      onSuccess: ({ id }) => go(`/executions/${id}`),
    });
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          value.send(start);
        }}
      >
        {given?.template === undefined ? (
          <>
            <label htmlFor={pipelineId}>Pipeline</label>
            <input
              id={pipelineId}
              required
              list={`${pipelineId}-known`}
              value={pipeline}
              onChange={(event) => setPipeline(event.target.value)}
            />
            <datalist id={`${pipelineId}-known`}>
              {known.map((name) => (
                <option key={name} value={name} />
              ))}
            </datalist>
          </>
        ) : (
          <p>Template {given.template.id}</p>
        )}
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

/** The schema of the active release, which most new executions are pinned to. */
export function useInputSchema(pipeline: string, isKnown: boolean): unknown {
  const { data } = useRead(requestTo('GET /v1/pipelines/:pipeline/releases', { pipeline }), {
    isEnabled: isKnown && pipeline !== '',
  });
  return data?.items.find(({ state }) => state === 'active')?.input;
}
