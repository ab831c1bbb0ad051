// Fields for a JSON value: one for each property of a simple schema, otherwise a text area. The typed text
// stays after an error.

import { type ReactNode, useId, useState } from 'react';
import { type FieldSchema, fieldsOf, readAnswer, textsOf } from '../model/answer-fields.ts';

interface ValueOptions {
  readonly label: string;
  readonly schema?: unknown;
  /** The value to start from. */
  readonly initial?: unknown;
  readonly isOptional?: boolean;
  readonly rows?: number;
  readonly example?: string;
  /** Offers the text area too, for values that the fields cannot express. */
  readonly hasJson?: boolean;
}

interface ValueFields {
  readonly fields: ReactNode;
  readonly problem: Error | undefined;
  /** Passes the value to `use`. If it is not valid, `problem` explains why. */
  readonly send: (use: (value: unknown) => void) => void;
}

type Typed = Readonly<Record<string, string>>;

export function useValueFields(options: ValueOptions): ValueFields {
  const { label, schema, initial, hasJson = false } = options;
  const known = fieldsOf(schema);
  const given = known === undefined ? {} : textsOf(known, initial);
  const [typed, setTyped] = useState<Typed>({});
  const [text, setText] = useState(initial === undefined ? '' : jsonText(initial));
  const [isJson, setJson] = useState(false);
  const [problem, setProblem] = useState<Error>();
  const fields = isJson || given === undefined ? undefined : known;
  const texts = { ...given, ...typed };
  const attempt = (action: () => void): void => {
    try {
      action();
      setProblem(undefined);
    } catch (cause) {
      setProblem(cause instanceof Error ? cause : new Error(String(cause)));
    }
  };
  const toJson = (): void =>
    attempt(() => {
      if (fields !== undefined) setText(jsonText(readAnswer(fields, texts)));
      setJson(true);
    });
  const shown =
    fields === undefined ? (
      <JsonField {...options} text={text} onType={setText} />
    ) : (
      <fieldset className="value-fields">
        <legend>{label}</legend>
        {fields.map((field) => (
          <Field
            key={field.name}
            field={field}
            text={texts[field.name] ?? ''}
            onType={(value) => setTyped({ ...typed, [field.name]: value })}
          />
        ))}
        {hasJson ? (
          <button type="button" className="quiet" onClick={toJson}>
            Edit as JSON
          </button>
        ) : null}
      </fieldset>
    );
  const read = (): unknown => (fields === undefined ? parsed(text) : readAnswer(fields, texts));
  return { fields: shown, problem, send: (use) => attempt(() => use(read())) };
}

function jsonText(value: unknown): string {
  return JSON.stringify(value, undefined, 2);
}

function parsed(text: string): unknown {
  return text.trim() === '' ? undefined : (JSON.parse(text) as unknown);
}

interface JsonFieldProps extends ValueOptions {
  readonly text: string;
  readonly onType: (text: string) => void;
}

function JsonField({ label, isOptional, rows = 4, example, ...typing }: JsonFieldProps): ReactNode {
  const { text, onType } = typing;
  const id = useId();
  return (
    <>
      <label htmlFor={id}>
        {label} <span className="about">(JSON{isOptional ? ', optional' : ''})</span>
      </label>
      <textarea
        id={id}
        rows={rows}
        value={text}
        placeholder={example}
        onChange={(event) => onType(event.target.value)}
      />
    </>
  );
}

interface FieldProps {
  readonly field: FieldSchema;
  readonly text: string;
  readonly onType: (text: string) => void;
}

function Field({ field, text, onType }: FieldProps): ReactNode {
  const id = useId();
  const name = (
    <>
      {field.title} {field.isRequired ? '' : <span className="about">(optional)</span>}
    </>
  );
  const options = field.kind === 'boolean' ? ['true', 'false'] : field.options;
  if (options !== undefined) {
    const words: Typed = field.kind === 'boolean' ? { true: 'yes', false: 'no' } : {};
    return (
      <fieldset className="choice">
        <legend>{name}</legend>
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
      <label htmlFor={id}>{name}</label>
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
