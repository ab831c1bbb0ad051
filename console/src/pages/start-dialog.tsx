// Starts an execution: a new one, or one with the input of another, edited.

import { type ReactNode, useId, useState } from 'react';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import { useOverview } from '../api/overview.ts';
import { useMay, useOperation } from '../api/reads.ts';
import { Dialog } from '../parts/dialog.tsx';
import { ProblemNote } from '../parts/notes.tsx';
import { go } from '../router.tsx';

interface StartProps {
  readonly label: string;
  readonly pipeline?: string;
  readonly input?: unknown;
}

export function StartButton({ label, ...given }: StartProps): ReactNode {
  const { submit } = useMay();
  const [isOpen, setOpen] = useState(false);
  if (!submit) return null;
  return (
    <>
      <button type="button" onClick={() => setOpen(true)}>
        {label}
      </button>
      {isOpen ? <StartDialog {...given} onClose={() => setOpen(false)} /> : null}
    </>
  );
}

interface StartDialogProps extends Omit<StartProps, 'label'> {
  readonly onClose: () => void;
}

function StartDialog({ pipeline: given = '', input, onClose }: StartDialogProps): ReactNode {
  const { data: overview } = useOverview();
  const known = [...new Set(overview?.pipelines.map(({ pipeline }) => pipeline))];
  const operation = useOperation<{ readonly id: string }>();
  const [pipeline, setPipeline] = useState(given);
  const [key, setKey] = useState('');
  const [text, setText] = useState(input === undefined ? '' : JSON.stringify(input, undefined, 2));
  const [problem, setProblem] = useState<Error>();
  const [pipelineId, keyId, inputId] = [useId(), useId(), useId()];
  const start = (): void => {
    try {
      const value = text.trim() === '' ? {} : { input: JSON.parse(text) as unknown };
      setProblem(undefined);
      const named = key.trim() === '' ? {} : { key: key.trim() };
      operation.mutate(requestTo('POST /v1/executions', { pipeline, ...value, ...named }), {
        onSuccess: ({ id }) => go(`/executions/${id}`),
      });
    } catch (error) {
      setProblem(error instanceof Error ? error : new Error(String(error)));
    }
  };
  return (
    <Dialog title="Start execution" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          start();
        }}
      >
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
        <label htmlFor={inputId}>
          Input <span className="about">(JSON, optional)</span>
        </label>
        <textarea
          id={inputId}
          rows={8}
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <label htmlFor={keyId}>
          Idempotency key <span className="about">(optional)</span>
        </label>
        <input id={keyId} value={key} onChange={(event) => setKey(event.target.value)} />
        <ProblemNote error={problem ?? operation.error} />
        <div className="dialog-actions">
          <button type="button" className="quiet" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className="primary" disabled={operation.isPending}>
            Start execution
          </button>
        </div>
      </form>
    </Dialog>
  );
}
