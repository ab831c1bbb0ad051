// Renders the Markdown report of an archived execution.

import { type ReactNode, useMemo } from 'react';
import { type ReportBlock, reportBlocks } from '../model/report.ts';
import { LinkedText } from '../parts/marks.tsx';

export function ReportView({ text }: { readonly text: string }): ReactNode {
  const blocks = useMemo(() => reportBlocks(text), [text]);
  return (
    <article className="report">
      {blocks.map((block, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the document never changes
        <Block key={index} block={block} />
      ))}
    </article>
  );
}

function Block({ block }: { readonly block: ReportBlock }): ReactNode {
  if (block.kind === 'heading') {
    return block.level === 1 ? <h2>{block.text}</h2> : <h3>{block.text}</h3>;
  }
  if (block.kind === 'table') return <ReportTable {...block} />;
  // biome-ignore lint/a11y/noNoninteractiveTabindex: scrolling content must be reachable by keyboard
  if (block.kind === 'code') return <pre tabIndex={0}>{block.text}</pre>;
  return <p>{block.text}</p>;
}

function ReportTable({ head, rows }: Extract<ReportBlock, { readonly kind: 'table' }>): ReactNode {
  const hasHead = head.some((each) => each !== '');
  return (
    // biome-ignore-start lint/a11y: scrolling content must be reachable by keyboard
    <div className="report-scroll" tabIndex={0} role="group" aria-label="Report table">
      <table>
        {hasHead ? (
          <thead>
            <tr>
              {head.map((each) => (
                <th key={each} scope="col">
                  {each}
                </th>
              ))}
            </tr>
          </thead>
        ) : null}
        <tbody>
          {rows.map((cells, row) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the document never changes
            <tr key={row}>
              {cells.map((cell, nth) =>
                nth === 0 && !hasHead ? (
                  // biome-ignore lint/suspicious/noArrayIndexKey: see above
                  <th key={nth} scope="row">
                    {cell}
                  </th>
                ) : (
                  // biome-ignore lint/suspicious/noArrayIndexKey: see above
                  <td key={nth}>
                    <LinkedText text={cell} />
                  </td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
    // biome-ignore-end lint/a11y: see above
  );
}
