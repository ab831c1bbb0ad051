// A page that cannot be drawn takes itself away, and nothing else: where one can go stays.

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
        <Empty title="This page could not be drawn">
          <p>Nothing was done. Load it again; if that does not help, report what stands here:</p>
          <ProblemNote error={error} />
        </Empty>
      </>
    );
  }
}
