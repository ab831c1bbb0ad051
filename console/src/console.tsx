import '@fontsource-variable/geist/wght.css';
import '@fontsource-variable/geist-mono/wght.css';
import './look/shell.css';
import './look/pages.css';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { call, pathOf, Refused } from './api/call.ts';
import { watchReads } from './api/contact.ts';
import { CALLER } from './api/reads.ts';
import { App } from './app.tsx';
import { pageAt } from './pages.tsx';
import { locationOf } from './router.tsx';
import { loadTimes } from './times.ts';

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

/** Loads the caller and the code of the page together. */
export async function showConsole(root: HTMLElement): Promise<void> {
  loadTimes();
  void client.prefetchQuery({
    queryKey: [pathOf(CALLER)],
    queryFn: ({ signal }) => call(CALLER, { signal }),
  });
  // If the code cannot be loaded, the page tries again and shows the error.
  await pageAt(locationOf(window.location.href).path)
    ?.page.load()
    .catch(() => undefined);
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={client}>
        <App />
      </QueryClientProvider>
    </StrictMode>,
  );
}
