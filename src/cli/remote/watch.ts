// `holdfast watch` shows the events of an execution until it ends. It reads one stream of events
// instead of polling. After a broken connection, the stream continues after the last event.

import type { Seen } from '../../client/client.ts';
import type { HistoryMessage } from '../../protocol/messages/execution.ts';
import { type CommandSpec, type ExitCode, type Typed, UsageProblem, wordsOf } from '../command.ts';
import { cut, plain, print, printLine, printProblem, RedrawnLines } from '../screen.ts';
import { CONNECTION_FLAGS, clientFor } from './connection.ts';
import { progressText, StepTree } from './executions.ts';
import { eventRow, showResult } from './show.ts';

export const watchCommand: CommandSpec = {
  usage: 'holdfast watch <id> [--tree | --events] [--json]',
  flags: {
    tree: {
      help: 'Show the steps as a tree: live on a terminal (the default there), otherwise once at the end',
    },
    events: { help: 'Print one line per event, also on a terminal' },
    ...CONNECTION_FLAGS,
  },
  execute,
};

async function execute(typed: Typed): Promise<ExitCode> {
  const [id] = wordsOf(watchCommand, typed, ['execution']);
  const screen = screenOf(typed);
  const { executions } = await clientFor(typed);
  const onCut = ({ againInMs }: { readonly againInMs: number }): void =>
    screen.showNote(`The connection was cut. Reconnecting in ${againInMs} ms.`);
  for await (const seen of executions.live(id, { onCut })) screen.show(seen);
  screen.end();
  return showResult(await executions.result(id), typed.isSet('json'));
}

interface Screen {
  show(seen: Seen): void;
  /** Shows a message that is not an event of the execution. */
  showNote(text: string): void;
  end(): void;
}

function screenOf(typed: Typed): Screen {
  if (typed.isSet('tree') && typed.isSet('events')) {
    throw new UsageProblem('Pass either --tree or --events.');
  }
  if (typed.isSet('json')) return lineScreen(printLine);
  const isTerminal = process.stdout.isTTY === true;
  if (typed.isSet('events') || !(isTerminal || typed.isSet('tree'))) return lineScreen(printEvent);
  return new TreeScreen(isTerminal);
}

function lineScreen(event: (event: HistoryMessage) => void): Screen {
  return {
    show(seen) {
      if (seen.kind === 'event') event(seen.event);
    },
    showNote: printProblem,
    end: () => undefined,
  };
}

const WIDTHS = [12, 16, 20];

function printEvent(event: HistoryMessage): void {
  const cells = eventRow(event).map((cell, at) => plain(cell).padEnd(WIDTHS[at] ?? 0));
  const width = process.stdout.isTTY ? process.stdout.columns : Number.POSITIVE_INFINITY;
  print(cut(cells.join('  ').trimEnd(), width));
}

/** Redraws the tree on a terminal; elsewhere prints it once, at the end. */
class TreeScreen implements Screen {
  readonly #isLive: boolean;
  readonly #tree: StepTree = new StepTree();
  readonly #drawn: RedrawnLines = new RedrawnLines();
  #progress = '';
  #note = '';

  constructor(isLive: boolean) {
    this.#isLive = isLive;
  }

  show(seen: Seen): void {
    if (seen.kind === 'event') this.#tree.add(seen.event);
    else this.#progress = progressText(seen.progress);
    this.#note = '';
    this.#draw();
  }

  showNote(text: string): void {
    this.#note = text;
    if (this.#isLive) this.#draw();
    else printProblem(text);
  }

  end(): void {
    if (this.#isLive) return;
    print(this.#lines().join('\n'));
  }

  #lines(): readonly string[] {
    const head = [this.#tree.status, this.#progress].filter((part) => part !== '').join('  ');
    return [head, ...this.#tree.lines()].filter((line) => line !== '');
  }

  #draw(): void {
    if (!this.#isLive) return;
    this.#drawn.draw([...this.#lines(), ...(this.#note === '' ? [] : [this.#note])]);
  }
}
