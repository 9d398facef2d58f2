import type { StoredRows } from '../../src/model/entities.ts'
import { requireMatch } from '../../src/wire/if-match.ts'
import type { ProjectState } from '../../src/actor/state.ts'
import { inProject, type Known } from '../../src/commands/command.ts'
import { updated } from '../../src/model/events.ts'
import { toldOf } from '../../src/log/rows.ts'
import { badRequest, conflict, notFound } from '../../src/wire/refusals.ts'
import type { Webhook } from './schema.ts'

type Row = StoredRows['webhook']

export const noWebhook = () => notFound('Webhook')
export const full = (most: number) => conflict(`A project has at most ${most} webhooks`)
export const unreadable = () => conflict('The secret cannot be read any more: rotate it')
export const badUrl = (wants: string) => badRequest(`url ${wants}`)

export const needs = () => ({ integrations: [{ webhooks: true as const }] })
export const ofAdmins = { at: inProject(), least: 'ADMIN', needs, keepsAnswer: true, isSecret: true } as const

/** @throws Refusal 404, and 412 for another If-Match */
export function webhookIn(state: ProjectState, known: Known, webhookId: string): Row {
  const row = state.row('webhook', webhookId)
  if (!row) throw noWebhook()
  requireMatch(known, answered(known, row))
  return row
}

export function answered({ caller }: Known, row: Row): Webhook & { eventId: string } {
  const isThere = row.hasCreator || row.createdBy === caller.userId
  return { ...row, createdBy: isThere ? row.createdBy : null, eventId: `${row.id}-${row.revision}` }
}

/** @param changed the names of the changed fields in the API */
export function change(
  state: ProjectState,
  known: Known,
  row: Row,
  { told = {}, untold = {}, changed }: { told?: Partial<Row>; untold?: Partial<Row>; changed: string[] },
) {
  const revision = row.revision + 1
  const event = updated(state, known, 'webhook.updated', toldOf('webhook', row), { ...told, revision })
  const after = { ...event.after, changed }
  const answer = answered(known, { ...row, ...told, ...untold, revision })
  return { changes: [{ ...event, after, untold }], answer }
}

/** Assembles the next delivery again. */
export const anew = { deliveryId: null, head: null }
/** Delivers at once, and forgets failures. */
export const atOnce = { failures: 0, failingSince: null, nextAt: null }
