// `holdfast serve` runs a coordinator until SIGTERM or SIGINT. The second signal ends it at once.

import { type CommandSpec, type ExitCode, refuseWords, type Typed } from './command.ts';
import { configFlags, configuredBy, showConfig } from './configuration.ts';

export const serveCommand: CommandSpec = {
  usage:
    'holdfast serve [--store postgres://… | --store ./holdfast.db] [--port 7433] [--auth keys|off] [--config holdfast.config.json] [--print-config [--json]]',
  flags: {
    ...configFlags(),
    'print-config': { help: 'Print each setting and its source, then exit' },
    json: { help: 'With --print-config: print JSON, one object per line' },
  },
  execute,
};

async function execute(typed: Typed): Promise<ExitCode> {
  refuseWords(serveCommand, typed);
  const configured = await configuredBy(typed);
  if (typed.isSet('print-config')) {
    showConfig(configured, typed.isSet('json'));
    return 0;
  }
  const { runServer } = await import('./run-server.ts');
  return runServer(configured);
}
