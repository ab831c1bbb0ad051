import type { ReactNode } from 'react';
import { Dialog } from './parts/dialog.tsx';

const HELP = [
  ['/ or ⌘K', 'Search'],
  ['j, k', 'Next or previous row'],
  ['Enter', 'Open the row'],
  ['g o, g e, g i', 'Go to Overview, Executions, Inbox'],
  ['g d, g w, g s', 'Go to Dead letters, Workers, Schedules'],
  ['?', 'This help'],
] as const;

export function KeyHelp({ onClose }: { readonly onClose: () => void }): ReactNode {
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
      <dl className="key-help">
        {HELP.map(([keys, what]) => (
          <div key={keys}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <div className="dialog-actions">
        <button type="button" onClick={onClose}>
          Close
        </button>
      </div>
    </Dialog>
  );
}
