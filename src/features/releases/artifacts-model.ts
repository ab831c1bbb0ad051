// The descriptor of a release: the artifacts beside its main one, such as the images of workers that
// run remote steps.

import { NAME_BYTES_MAX } from '../../lease/names.ts';
import { InvalidInput } from '../../support/fault.ts';
import {
  boundedText,
  integerOption,
  present,
  readList,
  readOptions,
  wordsIn,
} from '../../support/options.ts';

/** An artifact of a release, beside its main one. */
export interface Artifact {
  /** The name, unique in the release. */
  readonly name: string;
  /** The digest. A worker that shows it runs this release. */
  readonly digest: string;
  /** The size in bytes. */
  readonly size?: number;
  /** The place to get it from, without a user name or password. */
  readonly url?: string;
  /** The media type. */
  readonly mediaType?: string;
}

export const ARTIFACTS_MAX = 16;
export const ARTIFACT_URL_MAX = 512;
export const MEDIA_TYPE_MAX = 128;
export const MEDIA_TYPE = '^[A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+-]+$';

const FIELDS: readonly (keyof Artifact)[] = wordsIn('name digest size url mediaType');
const MEDIA_TYPE_PATTERN = new RegExp(MEDIA_TYPE);

/** A checked copy, sorted by name, so that the order of the list makes no difference. */
export function parseArtifacts(value: unknown): readonly Artifact[] {
  const given = readList('artifacts', value);
  if (given.length > ARTIFACTS_MAX) {
    throw new InvalidInput(
      `artifacts must have at most ${ARTIFACTS_MAX} entries; got ${given.length}.`,
    );
  }
  const artifacts = given.map((each, at) => parseArtifact(`artifacts[${at}]`, each));
  const names = artifacts.map(({ name }) => name);
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined) throw new InvalidInput(`artifacts has two entries named "${twice}".`);
  return artifacts.sort((a, b) => (a.name < b.name ? -1 : 1));
}

function parseArtifact(what: string, value: unknown): Artifact {
  const { name, digest, size, url, mediaType } = readOptions(what, value as Artifact, FIELDS);
  if (size !== undefined) {
    integerOption(`${what}: size`, size, { min: 0, max: Number.MAX_SAFE_INTEGER });
  }
  return {
    name: boundedText(`${what}: name`, name, NAME_BYTES_MAX),
    digest: boundedText(`${what}: digest`, digest, NAME_BYTES_MAX),
    ...present({ size }),
    ...(url === undefined ? {} : { url: urlOf(`${what}: url`, url) }),
    ...(mediaType === undefined ? {} : { mediaType: mediaTypeOf(`${what}: mediaType`, mediaType) }),
  };
}

/** The message does not show the URL, because it may contain a password. */
function urlOf(what: string, value: unknown): string {
  const text = boundedText(what, value, ARTIFACT_URL_MAX);
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined) {
    throw new InvalidInput(`${what} must be an absolute URL, such as oci://registry/shop:2.`);
  }
  if (url.username === '' && url.password === '') return text;
  throw new InvalidInput(
    `${what} must not contain a user name or password: everyone who lists releases can read it.`,
  );
}

function mediaTypeOf(what: string, value: unknown): string {
  const text = boundedText(what, value, MEDIA_TYPE_MAX);
  if (MEDIA_TYPE_PATTERN.test(text)) return text;
  throw new InvalidInput(`${what} must have the form type/subtype, such as application/gzip.`);
}

/** The digests that a worker of the release may show (RE-9). */
export function digestsOf({
  digest,
  artifacts = [],
}: {
  readonly digest: string;
  readonly artifacts?: readonly Artifact[];
}): readonly string[] {
  return [digest, ...artifacts.map((each) => each.digest)];
}
