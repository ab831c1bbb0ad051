// Where a measured process keeps its executions; sent to it as JSON.

export type Place =
  | { readonly kind: 'memory' }
  | { readonly kind: 'sqlite'; readonly file: string }
  /** A database of its own, so that what the server counts is this process and nothing else. */
  | { readonly kind: 'postgres'; readonly url: string };
