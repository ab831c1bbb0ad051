// A text field that filters a list by one name.

import { type ReactNode, useState } from 'react';

interface NameFilterProps {
  readonly label: string;
  readonly name: string;
  readonly onFilter: (name: string) => void;
}

export function NameFilter({ label, name: given, onFilter }: NameFilterProps): ReactNode {
  const [name, setName] = useState(given);
  const [shown, setShown] = useState(given);
  // The URL changed, for example with the back button: the field follows.
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
        placeholder={label}
        value={name}
        onChange={(event) => setName(event.target.value)}
      />
      <button type="submit">Apply</button>
    </form>
  );
}
