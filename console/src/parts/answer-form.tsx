// The answer form: a field for each property of a simple schema, otherwise a JSON text area. The typed
// text stays after an error.

import { type ReactNode, useId, useState } from 'react';
import { type FieldSchema, fieldsOf, readAnswer } from '../model/answer-fields.ts';
import { ProblemNote } from './notes.tsx';

export function AnswerForm({
  schema,
  isPending,
  error,
  onAnswer,
}: {
  readonly schema: unknown;
  readonly isPending: boolean;
  readonly error: unknown;
  readonly onAnswer: (value: unknown) => void;
}): ReactNode {
  const fields = fieldsOf(schema);
  const [typed, setTyped] = useState<Readonly<Record<string, string>>>({});
  const [text, setText] = useState('');
  const [problem, setProblem] = useState<Error>();
  return (
    <form
      className="answer-form"
      onSubmit={(event) => {
        event.preventDefault();
        try {
          const value = fields === undefined ? parsed(text) : readAnswer(fields, typed);
          setProblem(undefined);
          onAnswer(value);
        } catch (cause) {
          setProblem(cause instanceof Error ? cause : new Error(String(cause)));
        }
      }}
    >
      {fields === undefined ? (
        <JsonField text={text} onType={setText} />
      ) : (
        fields.map((field) => (
          <Field
            key={field.name}
            field={field}
            text={typed[field.name] ?? ''}
            onType={(value) => setTyped({ ...typed, [field.name]: value })}
          />
        ))
      )}
      <ProblemNote error={problem ?? error} />
      <button type="submit" className="primary" disabled={isPending}>
        {isPending ? 'Sending…' : 'Submit'}
      </button>
    </form>
  );
}

function parsed(text: string): unknown {
  return text.trim() === '' ? undefined : (JSON.parse(text) as unknown);
}

function JsonField({
  text,
  onType,
}: {
  readonly text: string;
  readonly onType: (text: string) => void;
}): ReactNode {
  const id = useId();
  return (
    <>
      <label htmlFor={id}>
        Answer <span className="about">(JSON)</span>
      </label>
      <textarea
        id={id}
        rows={4}
        value={text}
        placeholder='{"accepted": true}'
        onChange={(event) => onType(event.target.value)}
      />
    </>
  );
}

function Field({
  field,
  text,
  onType,
}: {
  readonly field: FieldSchema;
  readonly text: string;
  readonly onType: (text: string) => void;
}): ReactNode {
  const id = useId();
  const options = field.kind === 'boolean' ? ['true', 'false'] : field.options;
  const label = (
    <label htmlFor={id}>
      {field.title} {field.isRequired ? '' : <span className="about">(optional)</span>}
    </label>
  );
  if (options !== undefined) {
    const words: Readonly<Record<string, string>> =
      field.kind === 'boolean' ? { true: 'yes', false: 'no' } : {};
    return (
      <fieldset className="choice">
        <legend>
          {field.title} {field.isRequired ? '' : <span className="about">(optional)</span>}
        </legend>
        {options.map((option) => (
          <label key={option} className={option === text ? 'chip chip-on' : 'chip'}>
            <input
              type="radio"
              name={id}
              checked={option === text}
              required={field.isRequired}
              onChange={() => onType(option)}
            />
            {words[option] ?? option}
          </label>
        ))}
      </fieldset>
    );
  }
  return (
    <>
      {label}
      <input
        id={id}
        value={text}
        required={field.isRequired}
        type={field.kind === 'string' ? 'text' : 'number'}
        step={field.kind === 'integer' ? 1 : 'any'}
        onChange={(event) => onType(event.target.value)}
      />
      {field.about === undefined ? null : <p className="about">{field.about}</p>}
    </>
  );
}
