// Short notes about finished operations, with Undo where an operation can be taken back.

import { type ReactNode, useEffect, useSyncExternalStore } from 'react';
import { type Operation, useOperation } from '../api/reads.ts';

export interface Toast {
  readonly text: string;
  /** The operation that takes it back. */
  readonly undo?: Operation;
}

interface Shown extends Toast {
  readonly id: number;
}

const SHOWN_MS = 8_000;

let shown: readonly Shown[] = [];
let lastId = 0;
const listeners = new Set<() => void>();

function put(toasts: readonly Shown[]): void {
  shown = toasts;
  for (const listener of listeners) listener();
}

export function showToast(toast: Toast): void {
  lastId += 1;
  put([...shown.slice(-2), { ...toast, id: lastId }]);
}

function dismiss(id: number): void {
  put(shown.filter((each) => each.id !== id));
}

export function Toasts(): ReactNode {
  const toasts = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => shown,
  );
  return (
    <div className="toasts" role="status" aria-label="Notifications">
      {toasts.map((toast) => (
        <ToastNote key={toast.id} toast={toast} />
      ))}
    </div>
  );
}

function ToastNote({ toast }: { readonly toast: Shown }): ReactNode {
  const { id, text, undo } = toast;
  const operation = useOperation();
  useEffect(() => {
    const timer = window.setTimeout(() => dismiss(id), SHOWN_MS);
    return () => window.clearTimeout(timer);
  }, [id]);
  return (
    <div className="toast">
      <span>{operation.error?.message ?? text}</span>
      {undo === undefined ? null : (
        <button
          type="button"
          className="quiet"
          disabled={operation.isPending}
          onClick={() => operation.mutate(undo, { onSuccess: () => dismiss(id) })}
        >
          Undo
        </button>
      )}
      <button type="button" className="quiet" aria-label="Dismiss" onClick={() => dismiss(id)}>
        ✕
      </button>
    </div>
  );
}
