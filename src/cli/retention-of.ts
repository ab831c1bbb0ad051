// What a coordinator lets go of, from its configuration.

import type { Archive } from '../archive/port.ts';
import type { KeepMs } from '../execution/retention.ts';
import type { Config } from '../server/config.ts';
import type { ServerOptions } from '../server/server-options.ts';
import { InvalidInput } from '../support/fault.ts';

const DAY_MS = 86_400_000;

export async function retentionOf(config: Config): Promise<ServerOptions['retention']> {
  const { withoutArchive, everyMs } = config.retention;
  const keepMs = keepOf(config.retention);
  const archive = await archiveOf(config.archive);
  if (archive !== undefined && withoutArchive) {
    throw new InvalidInput(
      'There is an archive, and retention.withoutArchive says that there is none. Leave one of them out.',
    );
  }
  if (archive === undefined && !withoutArchive) {
    if (Object.keys(keepMs).length === 0) return undefined;
    throw new InvalidInput(
      'retention says how long executions are kept, and not where they go before they are removed. Set archive.folder, or archive.url and archive.bucket; or retention.withoutArchive if they may be gone for good.',
    );
  }
  return { archive: archive ?? 'none', keepMs, ...(everyMs === undefined ? {} : { everyMs }) };
}

function keepOf(retention: Config['retention']): KeepMs {
  const { completedDays, failedDays, cancelledDays, quarantinedDays } = retention;
  const { compensatedDays, deadLetterDays } = retention;
  const days = {
    completed: completedDays,
    failed: failedDays,
    cancelled: cancelledDays,
    quarantined: quarantinedDays,
    compensated: compensatedDays,
    deadLetter: deadLetterDays,
  };
  return Object.fromEntries(
    Object.entries(days).flatMap(([name, count]) =>
      count === undefined ? [] : [[name, count * DAY_MS]],
    ),
  );
}

/** The driver that is not asked for is not loaded. */
async function archiveOf(given: Config['archive']): Promise<Archive | undefined> {
  const { folder, url, bucket, accessKeyId, secretAccessKey, ...rest } = given;
  if (folder !== undefined && url !== undefined) {
    throw new InvalidInput('archive.folder and archive.url are two archives; set one of them.');
  }
  if (folder !== undefined) {
    const { openFolderArchive } = await import('../archive/folder.ts');
    return openFolderArchive({ folder });
  }
  if (url === undefined) return undefined;
  if (bucket === undefined || accessKeyId === undefined || secretAccessKey === undefined) {
    throw new InvalidInput(
      'An archive at archive.url needs archive.bucket, archive.accessKeyId and archive.secretAccessKey too.',
    );
  }
  const { openS3Archive } = await import('../archive/s3.ts');
  return openS3Archive({ url, bucket, accessKeyId, secretAccessKey, ...rest });
}
