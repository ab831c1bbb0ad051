import { importsOf } from './imports.ts';
import type { ProjectFile } from './project-files.ts';
import { lineAt, viewOf } from './source-view.ts';

export interface AmbientRule {
  readonly what: string;
  readonly code: RegExp;
  readonly modules?: RegExp;
  /** A file, or a folder if it ends with a slash. */
  readonly home: string;
}

/** Everything that a program takes from its surroundings, and its one place in src/. */
export const AMBIENT_RULES: readonly AmbientRule[] = [
  {
    what: 'the machine’s clock',
    code: /\bDate\.now\b|\bnew Date\b|\bperformance\.(?:now|timeOrigin)\b|\bprocess\.hrtime\b/g,
    modules: /^(?:node:)?perf_hooks$/,
    home: 'src/support/clock.ts',
  },
  {
    what: 'timers',
    code: /\b(?:setTimeout|setInterval|setImmediate|queueMicrotask)\b|\bAbortSignal\.timeout\b/g,
    modules: /^(?:node:)?timers(?:\/promises)?$/,
    home: 'src/support/timer.ts',
  },
  {
    what: 'randomness',
    code: /\bMath\.random\b|\bcrypto\.random\w*|\brandom(?:UUID|Bytes|Int|Fill)\b|\bgetRandomValues\b/g,
    home: 'src/support/random.ts',
  },
  {
    what: 'environment variables',
    code: /\bprocess\.env\b/g,
    home: 'src/support/environment.ts',
  },
  { what: 'ending the process', code: /\bprocess\.(?:exit|abort)\b/g, home: 'src/cli/' },
  { what: 'the console', code: /\bconsole\./g, home: 'src/cli/' },
];

export function ambientUses(files: readonly ProjectFile[]): readonly string[] {
  return files.flatMap((file) => {
    const code = viewOf(file.text, 'code');
    const imports = importsOf(file.text);
    return AMBIENT_RULES.filter((rule) => !isHome(file.path, rule.home)).flatMap((rule) => {
      const problem = (line: number, found: string) =>
        `${file.path}:${line}: \`${found}\` – ${rule.what} may be used only in ${rule.home}`;
      const uses = [...code.matchAll(rule.code)].map((match) =>
        problem(lineAt(code, match.index), match[0]),
      );
      const imported = imports
        .filter((found) => rule.modules?.test(found.specifier))
        .map((found) => problem(found.line, found.specifier));
      return [...uses, ...imported];
    });
  });
}

function isHome(path: string, home: string): boolean {
  return home.endsWith('/') ? path.startsWith(home) : path === home;
}
