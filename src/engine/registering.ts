// What a person says of a build, checked.

import { parsePipelineName } from '../execution/names.ts';
import { parseReleaseName } from '../execution/route.ts';
import { contractVersion, parseContract } from '../release/contract.ts';
import type { RegisterRelease } from '../store/contract/release-store.ts';
import { boundedText, readOptions } from '../support/options.ts';
import { checkedActing } from './auditing.ts';
import { contractOf } from './contract-of.ts';
import { asPipeline } from './pipeline.ts';
import { projectOf } from './submission.ts';

export interface RegisterOptions {
  /** The pipeline itself, or its contract as `holdfast contract build` wrote it. */
  readonly pipeline: unknown;
  readonly name: string;
  readonly artifact: string;
  readonly digest: string;
  readonly project?: string;
  readonly by?: string;
}

const NAME_BYTES_MAX = 256;
const REGISTER: readonly (keyof RegisterOptions)[] = [
  ...(['pipeline', 'name', 'artifact', 'digest', 'project', 'by'] as const),
];

export function registrationOf(options: RegisterOptions): RegisterRelease {
  const given = readOptions('releases.register', options, REGISTER);
  const known = asPipeline(given.pipeline);
  const contract =
    known === undefined ? parseContract('pipeline', given.pipeline) : contractOf(known);
  return {
    project: projectOf(given.project),
    pipeline: parsePipelineName(contract.pipeline),
    name: parseReleaseName(given.name),
    artifact: boundedText('artifact', given.artifact, NAME_BYTES_MAX),
    digest: boundedText('digest', given.digest, NAME_BYTES_MAX),
    contract,
    contractVersion: contractVersion(contract),
    createdBy: checkedActing(given).by,
  };
}
