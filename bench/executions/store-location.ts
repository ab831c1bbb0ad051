// The store of a measured process. The process receives this as JSON.

export type StoreLocation =
  | { readonly kind: 'memory' }
  | { readonly kind: 'sqlite'; readonly file: string }
  /** Its own database, so that the server's statistics cover only this process. */
  | { readonly kind: 'postgres'; readonly url: string };
