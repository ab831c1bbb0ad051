import { type ReactNode, useId } from 'react';
import { atOfField, fieldText } from '../model/time-text.ts';

interface TimeInputProps {
  readonly label: string;
  /** An ISO time. */
  readonly at: string | undefined;
  readonly isRequired?: boolean;
  readonly onType: (at: string | undefined) => void;
}

/** A field for a time, in the time zone of the page. */
export function TimeInput({ label, at, isRequired = false, onType }: TimeInputProps): ReactNode {
  const id = useId();
  return (
    <>
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        type="datetime-local"
        step={1}
        required={isRequired}
        value={fieldText(at)}
        onChange={({ target }) => onType(atOfField(target.value))}
      />
    </>
  );
}
