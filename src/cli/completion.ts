// `holdfast completion` prints scripts that complete commands and flags, built from the list of
// commands.

import {
  type CommandEntry,
  type CommandSpec,
  type ExitCode,
  type Typed,
  UsageProblem,
  unknown,
} from './command.ts';
import { flagHelp } from './help.ts';
import { print } from './screen.ts';

interface Named {
  readonly name: string;
  readonly help: string;
}

interface Completed {
  readonly name: string;
  readonly summary: string;
  readonly choices: readonly string[];
  readonly flags: readonly Named[];
}

const SHELLS: Readonly<Record<string, (commands: readonly Completed[]) => string>> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
};

const USAGE = 'holdfast completion bash|zsh|fish';

export function completionOf(commands: readonly CommandEntry[]): CommandSpec {
  return {
    usage: USAGE,
    flags: {},
    choices: Object.keys(SHELLS),
    execute: (typed) => execute(typed, commands),
  };
}

async function execute(typed: Typed, commands: readonly CommandEntry[]): Promise<ExitCode> {
  const [shell, more] = typed.words;
  if (shell === undefined || more !== undefined) {
    throw new UsageProblem(`Pass one shell. Usage: ${USAGE}`);
  }
  const script = Object.hasOwn(SHELLS, shell) ? SHELLS[shell] : undefined;
  if (script === undefined) throw unknown('shell', shell, Object.keys(SHELLS));
  const all = await Promise.all(commands.map(completed));
  print(script([...all, { ...HELP, choices: commands.map(({ name }) => name) }]));
  return 0;
}

const HELP: Completed = { name: 'help', summary: 'Describe a command', choices: [], flags: [] };

async function completed({ name, summary, load }: CommandEntry): Promise<Completed> {
  const { flags, choices = [] } = await load();
  const named = Object.entries(flags).map(([name, flag]) => ({
    name: `--${name}`,
    help: flagHelp(flag),
  }));
  return { name, summary, choices, flags: [...named, { name: '--help', help: 'Print this help' }] };
}

/** The words that may follow a command. */
function wordsAfter({ choices, flags }: Completed): string {
  return [...choices, ...flags.map((flag) => flag.name)].join(' ');
}

function bashScript(commands: readonly Completed[]): string {
  return [
    '_holdfast() {',
    '  local words',
    `  case "\${COMP_WORDS[1]}" in`,
    ...commands.map((each) => `    ${each.name}) words=${quoted(wordsAfter(each))} ;;`),
    '  esac',
    `  if [ "$COMP_CWORD" -le 1 ]; then words=${quoted(commands.map(({ name }) => name).join(' '))}; fi`,
    `  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))`,
    '}',
    'complete -o default -F _holdfast holdfast',
  ].join('\n');
}

function zshScript(commands: readonly Completed[]): string {
  const described = ({ name, help }: Named): string =>
    quoted(`${name.replaceAll(':', '\\:')}:${help}`);
  return [
    '#compdef holdfast',
    '_holdfast() {',
    '  local -a found',
    '  if (( CURRENT == 2 )); then',
    `    found=(${commands.map(({ name, summary }) => described({ name, help: summary })).join(' ')})`,
    '  else',
    `    case "\${words[2]}" in`,
    ...commands.map(
      ({ name, choices, flags }) =>
        `      ${name}) found=(${[...choices.map((choice) => ({ name: choice, help: '' })), ...flags].map(described).join(' ')}) ;;`,
    ),
    '    esac',
    '  fi',
    "  _describe 'holdfast' found || _files",
    '}',
    'compdef _holdfast holdfast',
  ].join('\n');
}

function fishScript(commands: readonly Completed[]): string {
  const seen = (name: string): string => quoted(`__fish_seen_subcommand_from ${name}`);
  return [
    ...commands.map(
      ({ name, summary }) =>
        `complete -c holdfast -n __fish_use_subcommand -f -a ${name} -d ${quoted(summary)}`,
    ),
    ...commands.flatMap(({ name, choices, flags }) => [
      ...choices.map((choice) => `complete -c holdfast -n ${seen(name)} -f -a ${choice}`),
      ...flags.map(
        (flag) =>
          `complete -c holdfast -n ${seen(name)} -l ${flag.name.slice(2)} -d ${quoted(flag.help)}`,
      ),
    ]),
  ].join('\n');
}

/** Single quotes work in all three shells; only fish interprets backslashes inside them. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", '’')}'`;
}
