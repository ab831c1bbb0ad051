import type { Child } from '../processes/stage/child.ts';
import { until } from '../processes/stage/until.ts';

/** All events of a process under one name, from now on. */
export class ChildEvents<Detail> {
  readonly all: Detail[] = [];

  constructor(child: Pick<Child<object>, 'on'>, event: string) {
    child.on(event, (detail) => this.all.push(detail as Detail));
  }

  /** The first event that matches, past or future. */
  async first(what: string, isSo: (detail: Detail) => boolean = () => true): Promise<Detail> {
    await until(what, () => this.all.some(isSo));
    const found = this.all.find(isSo);
    if (found === undefined) throw new Error(`no longer so: ${what}`);
    return found;
  }
}
