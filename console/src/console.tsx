import '@fontsource-variable/geist/wght.css';
import '@fontsource-variable/geist-mono/wght.css';
import './look/shell.css';
import './look/pages.css';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { Refused } from './api/call.ts';
import { watchReads } from './api/contact.ts';
import { App } from './app.tsx';

const RETRIES = 2;

const client = new QueryClient({
  defaultOptions: {
    queries: {
      // Retry failures of the coordinator. A refused request would be refused again, and after a
      // timeout the next poll asks.
      retry: (count, error) =>
        count < RETRIES && (!(error instanceof Refused) || error.status >= 500),
      // A browser that believes to be offline can still reach a coordinator on the same machine.
      networkMode: 'always',
      staleTime: 500,
      refetchOnWindowFocus: true,
    },
    mutations: { networkMode: 'always' },
  },
});

watchReads(client.getQueryCache());

export function showConsole(root: HTMLElement): void {
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={client}>
        <App />
      </QueryClientProvider>
    </StrictMode>,
  );
}
