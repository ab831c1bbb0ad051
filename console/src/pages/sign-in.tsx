import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useId, useState } from 'react';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import { chooseProject, Refused } from '../api/call.ts';
import { useOperation } from '../api/reads.ts';
import { Mark } from '../nav.tsx';
import { ProblemNote } from '../parts/notes.tsx';

const UNKNOWN =
  'Invalid, expired or incomplete key. Paste the full key, starting with hf_, or ask an admin for a new one.';

export function SignIn({ problem }: { readonly problem?: Error | null }): ReactNode {
  const [key, setKey] = useState('');
  const id = useId();
  const operation = useOperation();
  const client = useQueryClient();
  return (
    <main className="alone">
      <form
        className="card sign-in"
        onSubmit={(event) => {
          event.preventDefault();
          chooseProject(undefined);
          operation.mutate(
            { ...requestTo('POST /v1/sign-in'), key: key.trim() },
            { onSuccess: () => client.resetQueries() },
          );
        }}
      >
        <h1 className="brand">
          <Mark /> holdfast
        </h1>
        <label htmlFor={id}>API key</label>
        <input
          id={id}
          type="password"
          autoComplete="current-password"
          placeholder="hf_…"
          required
          value={key}
          onChange={(event) => setKey(event.target.value)}
        />
        <p className="about">
          The coordinator prints a key on first start; admins can create more. Stored in an HttpOnly
          cookie until you sign out or close the browser.
        </p>
        {operation.error?.code === 'key-required' ? (
          <ProblemNote error={new Refused({ ...operation.error, detail: UNKNOWN })} />
        ) : (
          <ProblemNote error={operation.error ?? problem} />
        )}
        <button type="submit" className="primary" disabled={operation.isPending}>
          Sign in
        </button>
      </form>
    </main>
  );
}
