// The documentation site (ADR 0048).
//
//   npm run docs:build   builds it into .cache/site/built; warnings and dead links fail
//   npm run docs         serves it on a local port and shows edits at once

import { buildSite, serveSite } from './site/run.ts';

if (process.argv[2] === 'serve') await serveSite(process.argv.slice(3));
else await buildSite(console.log);
