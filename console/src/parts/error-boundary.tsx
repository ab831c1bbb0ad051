// If a page throws while it renders, only that page is replaced: the navigation stays usable.

import { Component, type ReactNode } from 'react';
import { Empty, PageHead, ProblemNote } from './notes.tsx';

interface ErrorBoundaryProps {
  readonly title: string;
  readonly children: ReactNode;
}

interface ErrorBoundaryState {
  readonly error: unknown;
}

export class ErrorBoundary extends Component<ErrorBoundaryProps, ErrorBoundaryState> {
  override state: ErrorBoundaryState = { error: undefined };

  static getDerivedStateFromError(error: unknown): ErrorBoundaryState {
    return { error };
  }

  override render(): ReactNode {
    const { error } = this.state;
    if (error === undefined) return this.props.children;
    return (
      <>
        <PageHead title={this.props.title} />
        <Empty title="Something went wrong on this page">
          <p>No changes were made. Reload the page; if the problem persists, report this error:</p>
          <ProblemNote error={error} />
        </Empty>
      </>
    );
  }
}
