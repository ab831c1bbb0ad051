// Renders all generated pages of docs/reference, and those of docs/compare about scenarios.

import { type PublicExport, publicApi } from '../../test/tidy/public-api.ts';
import { cliPage } from './cli.ts';
import { configurationPage } from './configuration.ts';
import { errorsPage } from './errors.ts';
import { eventsPage } from './events.ts';
import { metricsPage } from './metrics.ts';
import { apiDocument, restIndex, restPages } from './rest.ts';
import { scenarioPages } from './scenarios.ts';
import { typescriptIndex, typescriptPages } from './typescript.ts';

/** Texts by path from the repository's root. */
export type Pages = Readonly<Record<string, string>>;

/** Pages in the repository and the package, so that a review shows their changes. */
export async function committedPages(api: readonly PublicExport[] = publicApi()): Promise<Pages> {
  return {
    'docs/reference/cli.md': await cliPage(),
    'docs/reference/configuration.md': configurationPage(),
    'docs/reference/errors.md': errorsPage(),
    'docs/reference/events.md': eventsPage(),
    'docs/reference/metrics.md': await metricsPage(),
    'docs/reference/rest.md': restIndex(),
    'docs/reference/typescript.md': typescriptIndex(api),
    ...scenarioPages(),
  };
}

/** Large pages that only the site has. The package has the declarations and schemas behind them. */
export function sitePages(): Pages {
  const api = publicApi();
  const [rest, typescript] = [apiDocument(), typescriptPages(api)];
  const pages = {
    ...{ ...restPages(rest), ...typescript },
    // In the site, the lists lead to the pages that only the site has.
    ...{ 'rest.md': restIndex(rest, true), 'typescript.md': typescriptIndex(api, true) },
  };
  return Object.fromEntries(
    Object.entries(pages).map(([path, text]) => [`docs/reference/${path}`, text]),
  );
}
