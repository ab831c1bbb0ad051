// Handles a restart, a failover or a restore of the PostgreSQL server.
//
// Grants and heartbeats require the same server, in the same run, as last seen (`SAME_SERVER`), and
// a reclaim checks it first. So after any change of the server, this code runs before anything
// else. It gives every live session the fair chance (E-6). If the data directory or its timeline
// differs, the server may have forgotten grants. Then it also raises the epoch and gives notice to
// every live session (T-4). It needs no hook on connections, which would not work behind a pooler.

import type { LeasePolicy } from '../../lease/policy.ts';
import { extendLiving } from '../sql/leases/sweep.ts';
import { type Database, type Queries, statement } from './database.ts';
import { play } from './gateway.ts';
import { SAME_SERVER } from './predicates.ts';
import { liftFences } from './recover.ts';

const IS_SAME = statement(`select coalesce(${SAME_SERVER}, false) as same`);

const LAST_SEEN = statement(`
  select m.started_at = pg_postmaster_start_time() and m.home = 'hf.fence'::regclass::oid as same,
         m.home = 'hf.fence'::regclass::oid as home, m.system_id, m.timeline
    from hf.meta m
   where m.id = 1
     for update`);

// Only the primary has a current write position. The name of its WAL file starts with the timeline.
const IDENTITY = statement(`
  select case when has_function_privilege('pg_catalog.pg_control_system()', 'execute')
              then (select c.system_identifier::text from pg_control_system() c) end as system_id,
         current_setting('fsync') = 'off' as forgetful,
         ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::integer as timeline`);

const ADOPT = statement(`
  insert into hf.meta (id, started_at, home, system_id, timeline)
  values (1, pg_postmaster_start_time(), 'hf.fence'::regclass::oid, $1, $2)
      on conflict (id) do update
     set started_at = excluded.started_at,
         home       = excluded.home,
         system_id  = excluded.system_id,
         timeline   = excluded.timeline`);

interface Identity {
  readonly system_id: string | null;
  readonly timeline: number | null;
}

/**
 * Returns true if the server had changed. Safe to call at any time, from many processes at once.
 */
export async function adoptServer(database: Database, policy: LeasePolicy): Promise<boolean> {
  const [known] = await database.rows<{ same: boolean }>(IS_SAME, []);
  if (known?.same === true) return false;
  return database.transaction((queries) => adopt(queries, policy));
}

export async function adopt(queries: Queries, policy: LeasePolicy): Promise<boolean> {
  const [seen] = await queries.rows<Identity & { same: boolean; home: boolean }>(LAST_SEEN, []);
  if (seen?.same === true) return false;
  const [identity] = await queries.rows<Identity & { forgetful: boolean }>(IDENTITY, []);
  const { system_id = null, timeline = null, forgetful = false } = identity ?? {};
  if (seen !== undefined) {
    // Without fsync, a machine crash may have lost grants, even if the identity is the same.
    const moved =
      forgetful ||
      !seen.home ||
      differs(seen.system_id, system_id) ||
      differs(seen.timeline, timeline);
    if (moved) {
      const from = `${seen.system_id}/${seen.timeline}`;
      const reason = seen.home
        ? `server started anew, from ${from} to ${system_id}/${timeline}`
        : 'tables were created anew, as by a restore from a dump';
      const by = timelinesSince(seen, { system_id, timeline });
      await liftFences(queries, { actor: 'holdfast', reason, endHalt: false }, by);
    }
    await play(queries, extendLiving(policy));
  }
  await queries.rows(ADOPT, [system_id, timeline]);
  return true;
}

/**
 * Each failover begins a timeline and raises the epoch. An asynchronous standby may not know a raise
 * that another server made before, but its own timeline comes after that server's. So each timeline
 * in between counts as one epoch (T-3).
 */
function timelinesSince(seen: Identity, now: Identity): number {
  const isSameSystem = !differs(seen.system_id, now.system_id);
  if (!isSameSystem || seen.timeline === null || now.timeline === null) return 1;
  return Math.max(now.timeline - seen.timeline, 1);
}

/** A value that could not be read on one side proves nothing. */
function differs(before: string | number | null, after: string | number | null): boolean {
  return before !== null && after !== null && before !== after;
}
