// An AbortController that is made when somebody looks at its signal. Most executions end without
// anybody having asked, and a controller costs more than a step.

export class LazyAbort {
  #controller: AbortController | undefined;
  #reason: { readonly value: unknown } | undefined;

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#reason !== undefined) this.#controller.abort(this.#reason.value);
    }
    return this.#controller.signal;
  }

  abort(reason: unknown): void {
    this.#reason ??= { value: reason };
    this.#controller?.abort(reason);
  }
}
