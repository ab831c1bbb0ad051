// A list is narrowed to one name, which whoever looks types.

import { type ReactNode, useState } from 'react';

interface NameFilterProps {
  /** As people are told what the name is of. */
  readonly label: string;
  readonly name: string;
  readonly onFilter: (name: string) => void;
}

export function NameFilter({ label, name: given, onFilter }: NameFilterProps): ReactNode {
  const [name, setName] = useState(given);
  const [shown, setShown] = useState(given);
  // The address says something else, by the way back: so does the field, where it is.
  if (shown !== given) {
    setShown(given);
    setName(given);
  }
  return (
    <form
      className="search"
      onSubmit={(event) => {
        event.preventDefault();
        onFilter(name.trim());
      }}
    >
      <input
        aria-label={label}
        placeholder={`${label.toLowerCase()} …`}
        value={name}
        onChange={(event) => setName(event.target.value)}
      />
      <button type="submit">Filter</button>
    </form>
  );
}
