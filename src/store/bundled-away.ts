import { InvalidInput } from '../support/fault.ts';

/** Throws the fix for a bundle that lacks the SQL files. */
export function bundledAway(cause: NodeJS.ErrnoException): never {
  if (cause.code !== 'ENOENT') throw cause;
  throw new InvalidInput(
    'The SQL files of Holdfast are missing beside its code. Nothing was opened. If you bundle your code, mark "holdfast" as external (esbuild: --packages=external), and install it beside the bundle.',
    { cause },
  );
}
