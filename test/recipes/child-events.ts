import type { Child } from '../processes/stage/child.ts';
import { until } from '../processes/stage/until.ts';

/** Everything a process has told under one name, from the moment this is made. */
export class ChildEvents<Detail> {
  readonly all: Detail[] = [];

  constructor(child: Pick<Child<object>, 'on'>, event: string) {
    child.on(event, (detail) => this.all.push(detail as Detail));
  }

  /** The first that is so, of those told already and those to come. */
  async first(what: string, isSo: (detail: Detail) => boolean = () => true): Promise<Detail> {
    await until(what, () => this.all.some(isSo));
    const found = this.all.find(isSo);
    if (found === undefined) throw new Error(`no longer so: ${what}`);
    return found;
  }
}
