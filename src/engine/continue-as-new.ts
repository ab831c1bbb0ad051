/** Thrown by `ctx.continueAsNew` and caught by the engine alone. */
export class ContinueAsNew {
  readonly input: unknown;

  constructor(input: unknown) {
    this.input = input;
  }
}
