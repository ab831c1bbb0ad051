import type { CensusStore } from '../../contract/census-store.ts';
import type { ExecutionStore } from '../../contract/execution-store.ts';
import type { RetentionStore } from '../../contract/retention-store.ts';
import type { SealStore } from '../../contract/seal-store.ts';
import { sealsOf, unlessSealed } from '../move/open.ts';
import type { MemoryState } from '../state.ts';
import { answer } from './answer.ts';
import { archived, listArchived } from './archived.ts';
import { assignAwait } from './assign-await.ts';
import { attachment, attachments } from './attachments.ts';
import { listAudit, note, recordAct } from './audit.ts';
import { payloadsOf } from './blobs.ts';
import { cancel } from './cancel.ts';
import { cancelAwait } from './cancel-await.ts';
import { carried } from './carried.ts';
import { depth, inFlight } from './census.ts';
import { children } from './children.ts';
import { claim } from './claim.ts';
import { deadLetter, deadLetterGroups, deadLetters } from './dead-letters.ts';
import { expireAwaits } from './expire-awaits.ts';
import { extendAwait } from './extend-await.ts';
import { finish } from './finish.ts';
import { dueSchedules, fireSchedule } from './fire-schedule.ts';
import { giveBack } from './give-back.ts';
import { histories, history } from './history.ts';
import { inbox } from './inbox.ts';
import { interaction, interactions, lateAnswers } from './interactions.ts';
import { jobItems, noteJobItem } from './jobs.ts';
import { list } from './list.ts';
import { maintain } from './maintain.ts';
import { outcomes } from './outcomes.ts';
import { park } from './park.ts';
import { pause } from './pause.ts';
import { readExecution, readMany } from './read-execution.ts';
import { reconcile } from './reconcile.ts';
import { record } from './record.ts';
import { redrive } from './redrive.ts';
import { noteRefusals, refusals } from './refusals.ts';
import { releasesOf } from './release-verbs.ts';
import { removable } from './removable.ts';
import { remove } from './remove.ts';
import { resume } from './resume.ts';
import {
  pauseSchedule,
  putSchedule,
  removeSchedule,
  resumeSchedule,
  schedule,
  schedules,
} from './schedules.ts';
import { signal } from './signal.ts';
import { ExecutionState, STATES } from './state.ts';
import { submit } from './submit.ts';
import { putTemplate, template, templates } from './templates.ts';
import { transact } from './transact.ts';

export function openExecutions(kernel: MemoryState): {
  readonly executions: ExecutionStore;
  readonly seals: SealStore;
  readonly state: ExecutionState;
  close(): void;
} {
  const state = new ExecutionState(kernel);
  const executions: ExecutionStore = unlessSealed(kernel, {
    submit: async (request) => submit(state, request),
    claim: async (request) => claim(state, request),
    carried: async (query) => carried(state, query),
    room: () => Number.POSITIVE_INFINITY,
    record: async (request) => record(state, request),
    transact: (request) => transact(state, request),
    finish: async (request) => finish(state, request),
    park: async (request) => park(state, request),
    giveBack: async (request) => giveBack(state, request),
    inbox: async (query) => inbox(state, query),
    cancel: async (request) => cancel(state, request),
    pause: async (request) => pause(state, request),
    resume: async (request) => resume(state, request),
    signal: async (request) => signal(state, request),
    maintain: async (request) => maintain(state, request),
    read: async (id) => readExecution(state, id),
    readMany: async (ids) => readMany(state, ids),
    outcomes: async (ids) => outcomes(state, ids),
    history: async (query) => history(state, query),
    histories: async (query) => histories(state, query),
    list: async (query) => list(state, query),
    children: async (query) => children(state, query),
    attachment: async (query) => attachment(state, query),
    attachments: async (id) => attachments(state, id),
    ...payloadsOf(state),
    putTemplate: async (request) => putTemplate(state, request),
    template: async (query) => template(state, query),
    templates: async (query) => templates(state, query),
    putSchedule: async (request) => putSchedule(state, request),
    schedule: async (query) => schedule(state, query),
    schedules: async (query) => schedules(state, query),
    pauseSchedule: async (request) => pauseSchedule(state, request),
    resumeSchedule: async (request) => resumeSchedule(state, request),
    removeSchedule: async (request) => removeSchedule(state, request),
    dueSchedules: async (query) => dueSchedules(state, query),
    fireSchedule: async (request) => fireSchedule(state, request),
    answer: async (request) => answer(state, request),
    expireAwaits: async (request) => expireAwaits(state, request),
    extendAwait: async (request) => extendAwait(state, request),
    assignAwait: async (request) => assignAwait(state, request),
    cancelAwait: async (request) => cancelAwait(state, request),
    interaction: async (query) => interaction(state, query),
    interactions: async (query) => interactions(state, query),
    lateAnswers: async (query) => lateAnswers(state, query),
    redrive: async (request) => redrive(state, request),
    deadLetter: async (id) => deadLetter(state, id),
    deadLetters: async (query) => deadLetters(state, query),
    deadLetterGroups: async (query) => deadLetterGroups(state, query),
    noteJobItem: async (request) => noteJobItem(state, request),
    jobItems: async (query) => jobItems(state, query),
    audit: async (query) => listAudit(state, query),
    note: async (request) => note(state, request),
    recordAct: async (request) => recordAct(state, request),
    noteRefusals: async (batch) => noteRefusals(state, batch),
    refusals: async (query) => refusals(state, query),
    reconcile: async (request) => reconcile(state, request),
    ...retentionOf(state),
    ...looksOf(state),
    ...releasesOf(state),
    onRing(listener) {
      state.rings.add(listener);
      return () => state.rings.delete(listener);
    },
  });
  STATES.set(executions, state);
  return { executions, state, seals: sealsOf(state), close: () => state.rings.clear() };
}

function looksOf(state: ExecutionState): CensusStore {
  return {
    inFlight: async (query) => inFlight(state, query),
    depth: async (query) => depth(state, query),
  };
}

function retentionOf(state: ExecutionState): RetentionStore {
  return {
    removable: async (query) => removable(state, query),
    remove: async (request) => remove(state, request),
    archived: async (id) => archived(state, id),
    listArchived: async (query) => listArchived(state, query),
  };
}
