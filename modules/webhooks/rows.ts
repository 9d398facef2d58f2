import type { Rows, StoredRows } from '../../src/model/entities.ts'
import { requireMatch } from '../../src/wire/if-match.ts'
import type { ProjectState } from '../../src/actor/state.ts'
import { inProject, type Known } from '../../src/commands/command.ts'
import { updated } from '../../src/model/events.ts'
import { toldOf } from '../../src/log/rows.ts'
import { noWebhook } from './errors.ts'
import type { Webhook } from './schema.ts'

type Row = StoredRows['webhook']

export const needs = () => ({ integrations: [{ webhooks: true as const }] })
const least = 'ADMIN'
export const ofAdmins = { at: inProject(), least, needs, keepsAnswer: true, isSecret: true } as const

/** The webhook, as its If-Match wants it. @throws Refusal 404, 412 */
export function webhookIn(state: ProjectState, known: Known, webhookId: string): Row {
  const row = state.row('webhook', webhookId)
  if (!row) throw noWebhook()
  requireMatch(known, answered(known, row))
  return row
}

/** A webhook for its answer: its ETag is that of the revision. */
export function answered({ caller }: Known, row: Row): Webhook & { eventId: string } {
  const { createdBy, hasCreator } = row
  const isThere = hasCreator || createdBy === caller.userId
  return { ...row, createdBy: isThere ? createdBy : null, eventId: `${row.id}-${row.revision}` }
}

interface Wanted {
  told?: Partial<Omit<Rows['webhook'], 'eventId'>>
  untold?: Partial<Row>
  /** The names of what is changed, as the API calls it. */
  changed: string[]
}

export function change(
  state: ProjectState,
  known: Known,
  row: Row,
  { told = {}, untold = {}, changed }: Wanted,
) {
  const revision = row.revision + 1
  const event = updated(state, known, 'webhook.updated', toldOf('webhook', row), { ...told, revision })
  const after = { ...event.after, changed }
  const answer = answered(known, { ...row, ...told, ...untold, revision })
  return { changes: [{ ...event, after, untold }], answer }
}

/** The next delivery is assembled again. */
export const anew = { deliveryId: null, head: null }
/** It is delivered at once, and failures are forgotten. */
export const atOnce = { failures: 0, failingSince: null, nextAt: null }
