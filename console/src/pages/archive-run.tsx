// The dialog that archives due executions now, page by page until none is left.

import { type ReactNode, useState } from 'react';
import type { ArchiveRunMessage } from '../../../src/features/retention/messages.ts';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import { useOperation } from '../api/reads.ts';
import { countText } from '../model/words.ts';
import { Dialog } from '../parts/dialog.tsx';
import { ProblemNote } from '../parts/notes.tsx';

export function RunButton(): ReactNode {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button type="button" onClick={() => setOpen(true)}>
        Archive now…
      </button>
      {isOpen ? <RunDialog onClose={() => setOpen(false)} /> : null}
    </>
  );
}

type Done = Omit<ArchiveRunMessage, 'cursor'>;

const NOTHING: Done = { due: 0, archived: 0, removed: 0, failed: 0 };

function plus(one: Done, other: Done): Done {
  return {
    due: one.due + other.due,
    archived: one.archived + other.archived,
    removed: one.removed + other.removed,
    failed: one.failed + other.failed,
  };
}

function RunDialog({ onClose }: { readonly onClose: () => void }): ReactNode {
  const operation = useOperation<ArchiveRunMessage>();
  const [done, setDone] = useState<Done>();
  const [isOver, setOver] = useState(false);
  const run = async (): Promise<void> => {
    let sum = NOTHING;
    let cursor: string | undefined;
    do {
      const request = requestTo('POST /v1/archive/run', { cursor });
      const { cursor: next, ...page } = await operation.mutateAsync(request);
      sum = plus(sum, page);
      setDone(sum);
      cursor = next;
    } while (cursor !== undefined);
    setOver(true);
  };
  return (
    <Dialog title="Archive now" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          // The note below shows the error.
          run().catch(() => undefined);
        }}
      >
        <p>
          Archives executions past their retention and removes them from the database. This also
          runs automatically.
        </p>
        {done === undefined ? null : <Progress done={done} isOver={isOver} />}
        <ProblemNote error={operation.error} />
        <div className="dialog-actions">
          <button type="button" className="quiet" onClick={onClose}>
            {isOver ? 'Close' : 'Cancel'}
          </button>
          {isOver ? null : (
            <button type="submit" className="primary" disabled={operation.isPending}>
              {operation.isPending ? 'Working…' : 'Archive'}
            </button>
          )}
        </div>
      </form>
    </Dialog>
  );
}

function Progress({ done, isOver }: { readonly done: Done; readonly isOver: boolean }): ReactNode {
  const { due, archived, removed, failed } = done;
  const what =
    due === 0 && isOver
      ? 'Nothing to archive.'
      : `${countText(due)} due: ${countText(archived)} archived, ${countText(removed)} removed.`;
  return (
    <p className="preview" role="status">
      {what} {failed === 0 ? '' : `${countText(failed)} failed and were kept.`}
    </p>
  );
}
