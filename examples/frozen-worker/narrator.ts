// Prints numbered lines with the time since the start and the speaker. It uses colour only on a terminal
// and without NO_COLOR.

import { styleText } from 'node:util';

export type Who = 'A' | 'B' | 'system' | 'store' | 'ledger';
type Style = Parameters<typeof styleText>[0];

const STYLES: Readonly<Record<Who, Style>> = {
  A: 'yellow',
  B: 'cyan',
  system: 'magenta',
  store: 'blue',
  ledger: 'green',
};
const NAMES: Readonly<Record<Who, string>> = {
  A: 'worker A',
  B: 'worker B',
  system: 'system',
  store: 'store',
  ledger: 'ledger',
};
const INDENT = ' '.repeat(25);
const TEXT_WIDTH = Math.min(process.stdout.columns ?? 110, 110) - INDENT.length;

export class Narrator {
  readonly #startedAt = performance.now();
  #lines = 0;

  heading(text: string): void {
    this.#print(`\n${styled('bold', text)}\n`);
  }

  line(who: Who, text: string): void {
    this.#lines += 1;
    const number = String(this.#lines).padStart(3);
    const seconds = ((performance.now() - this.#startedAt) / 1000).toFixed(2).padStart(6);
    const name = styled(STYLES[who], NAMES[who].padEnd(9));
    const [first = '', ...rest] = wrapped(text);
    this.#print(`${number} ${styled('dim', `${seconds} s`)}   ${name} ${marked(first)}`);
    for (const more of rest) this.#print(`${INDENT}${marked(more)}`);
  }

  aside(text: string): void {
    this.#print(`${INDENT}${marked(text)}`);
  }

  plain(text: string): void {
    this.#print(text);
  }

  #print(text: string): void {
    process.stdout.write(`${text}\n`);
  }
}

function styled(style: Style, text: string): string {
  return styleText(style, text, { stream: process.stdout });
}

/** Highlights refusals and corruption. */
function marked(text: string): string {
  return text
    .replace(/\bREFUSED\b/g, (word) => styled(['bold', 'green'], word))
    .replace(/\bCORRUPTED\b|\bACCEPTED\b|← .*$/g, (word) => styled(['bold', 'red'], word));
}

function wrapped(text: string): readonly string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > TEXT_WIDTH) {
      lines.push(line);
      line = word;
    } else {
      line = line === '' ? word : `${line} ${word}`;
    }
  }
  return [...lines, line];
}
