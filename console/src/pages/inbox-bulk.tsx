// Gives one answer to several requests. Each has a result of its own, so one refusal stops no other.

import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import type { InteractionMessage } from '../../../src/features/awaits/messages.ts';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import { call } from '../api/call.ts';
import { isLive, useRead } from '../api/reads.ts';
import { plural } from '../model/words.ts';
import { AnswerForm } from '../parts/answer-form.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { showToast } from '../parts/toast.tsx';

interface BulkAnswerProps {
  readonly items: readonly InteractionMessage[];
  readonly onDone: () => void;
}

export function BulkAnswer({ items, onDone }: BulkAnswerProps): ReactNode {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button type="button" className="primary" onClick={() => setOpen(true)}>
        Answer {plural(items.length, 'request')}…
      </button>
      {isOpen ? <BulkDialog items={items} onDone={onDone} onClose={() => setOpen(false)} /> : null}
    </>
  );
}

/** The coordinator takes so many answers in one transaction. */
const TOGETHER = 100;

interface BulkDialogProps extends BulkAnswerProps {
  readonly onClose: () => void;
}

function BulkDialog({ items, onDone, onClose }: BulkDialogProps): ReactNode {
  const [first] = items;
  const read = useRead(requestTo('GET /v1/awaits/:id', { id: first?.id ?? '' }));
  const client = useQueryClient();
  const [isSent, setSent] = useState(false);
  const [error, setError] = useState<unknown>();
  const answerAll = async (value: unknown): Promise<void> => {
    setSent(true);
    setError(undefined);
    let refused = 0;
    try {
      for (let from = 0; from < items.length; from += TOGETHER) {
        const ids = items.slice(from, from + TOGETHER).map(({ id }) => id);
        const answers = await call(requestTo('POST /v1/awaits/answers', { ids, value }));
        refused += answers.items.filter(({ kind }) => kind === 'refused').length;
      }
    } catch (problem) {
      setError(problem);
      setSent(false);
      return;
    }
    await client.invalidateQueries({ predicate: isLive });
    const note = refused === 0 ? '' : `, ${refused} refused and still listed`;
    onClose();
    showToast({ text: `${plural(items.length - refused, 'request')} answered${note}` });
    onDone();
  };
  return (
    <Dialog title={`Answer ${plural(items.length, 'request')}`} onClose={onClose}>
      <p>Each request gets this answer, and its execution continues.</p>
      {read.isPending ? null : (
        <AnswerForm
          schema={read.data?.answerSchema}
          isPending={isSent}
          error={error ?? read.error}
          onAnswer={(value) => void answerAll(value)}
        />
      )}
      <div className="dialog-actions">
        <button type="button" className="quiet" onClick={onClose}>
          Cancel
        </button>
      </div>
    </Dialog>
  );
}
