// The only reader of environment variables.

/** The variables whose names start with this prefix. */
export function environmentWith(prefix: string): Readonly<Record<string, string>> {
  const found = Object.entries(process.env).flatMap(([name, value]) =>
    name.startsWith(prefix) && value !== undefined ? [[name, value] as const] : [],
  );
  return Object.fromEntries(found);
}
