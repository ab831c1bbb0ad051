/** What the doctor has looked at. */
export interface Finding {
  readonly what: string;
  readonly found: string;
  /** Only when something is wrong. */
  readonly change?: string;
}
