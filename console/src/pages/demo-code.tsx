// The source of the demo's pipeline, as shipped in the package.

import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { PageHead, Shown } from '../parts/notes.tsx';

export function DemoCodePage(): ReactNode {
  const read = useQuery({
    queryKey: ['demo', 'code'],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async () => (await import('../../../src/cli/demo/restaurant.ts?raw')).default,
  });
  return (
    <>
      <PageHead
        title="Demo source"
        about="The pipeline the demo workers run: src/cli/demo/restaurant.ts"
      />
      <Shown of={read}>
        {/* biome-ignore-start lint/a11y: scrolling content must be reachable by keyboard */}
        <pre className="card code" tabIndex={0} aria-label="restaurant.ts" role="group">
          {read.data}
        </pre>
        {/* biome-ignore-end lint/a11y: see above */}
      </Shown>
    </>
  );
}
