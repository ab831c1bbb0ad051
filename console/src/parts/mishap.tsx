// If a page throws while it renders, only that page is replaced: the navigation stays usable.

import { Component, type ReactNode } from 'react';
import { Empty, PageHead, ProblemNote } from './notes.tsx';

interface MishapProps {
  readonly title: string;
  readonly children: ReactNode;
}

interface MishapState {
  readonly error: unknown;
}

export class Mishap extends Component<MishapProps, MishapState> {
  override state: MishapState = { error: undefined };

  static getDerivedStateFromError(error: unknown): MishapState {
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
