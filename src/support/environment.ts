// The only reader of environment variables.

/** The variables whose names start with this prefix. */
export function environmentWith(prefix: string): Readonly<Record<string, string>> {
  const found = Object.entries(process.env).flatMap(([name, value]) =>
    name.startsWith(prefix) && value !== undefined ? [[name, value] as const] : [],
  );
  return Object.fromEntries(found);
}

/** Variables that are no settings of a coordinator: of commands, and of programs under a lease. */
export const CLIENT_VARIABLES: readonly string[] = [
  ...['HOLDFAST_URL', 'HOLDFAST_KEY', 'HOLDFAST_PROJECT', 'HOLDFAST_CONFIG'],
  ...['HOLDFAST_LEASE_KEY', 'HOLDFAST_LEASE_FENCE', 'HOLDFAST_LEASE_PREDECESSOR'],
  'HOLDFAST_LEASE_CHECKPOINT_FILE',
];
