import type { Rows, StoredRows } from '../../src/model/entities.ts'
import { requireMatch } from '../../src/actor/precondition.ts'
import type { ProjectState } from '../../src/actor/state.ts'
import { command, inProject, type Known } from '../../src/commands/command.ts'
import { appeared, differing, removed, updated } from '../../src/model/events.ts'
import { toldOf } from '../../src/log/rows.ts'
import { full, noWebhook } from './errors.ts'
import {
  CreateWebhook,
  DisableWebhook,
  ReplayWebhook,
  RotateWebhook,
  UpdateWebhook,
  WebhookId,
} from './inputs.ts'
import { sealedWebhookView, type Webhook, webhookView } from './schema.ts'

type Row = StoredRows['webhook']

/** How long the previous secret signs too. */
const formerMs = 24 * 3_600_000
const needs = () => ({ integrations: [{ webhooks: true as const }] })
const ofAdmins = { at: inProject(), least: 'ADMIN', needs, keepsAnswer: true } as const

/** @throws Refusal 404 */
function webhookIn(state: ProjectState, webhookId: string): Row {
  const row = state.row('webhook', webhookId)
  if (!row) throw noWebhook()
  return row
}

/** A webhook for its answer: its ETag is that of the revision. */
function answered({ caller }: Known, row: Row): Webhook & { eventId: string } {
  const { createdBy, hasCreator } = row
  const isThere = hasCreator || createdBy === caller.userId
  return { ...row, createdBy: isThere ? createdBy : null, eventId: `${row.id}-${row.revision}` }
}

export const createWebhook = command('webhook.create', {
  ...ofAdmins,
  input: CreateWebhook,
  decide(state, known, { url, types, maxEvents, enabled, secret }) {
    const all = state.all('webhook')
    const { projectWebhooks } = known.limits
    if (all.length >= projectWebhooks) throw full(projectWebhooks)
    const used = new Set(all.map((row) => row.slot))
    let slot = 1
    while (used.has(slot)) slot++
    const told = {
      ...{ id: known.newId(), projectId: state.projectId, revision: 1, types, maxEvents },
      ...{ createdBy: known.caller.userId, createdAt: known.now },
      ...{ disabledAt: enabled ? null : known.now, disabledReason: null },
    }
    const untold = {
      ...{ slot, url, secret, formerSecret: null, formerUntil: null, failures: 0, failingSince: null },
      // It begins after its own creation.
      ...{
        cursor: state.version + 1,
        deliveryId: null,
        head: null,
        nextAt: null,
        leaseBy: null,
        leaseUntil: null,
      },
    }
    const change = appeared(state, known, 'webhook.created', told)
    const answer = answered(known, { ...change.after, ...untold })
    return { changes: [{ ...change, untold }], answer }
  },
  shows: sealedWebhookView,
  status: 201,
  madeAt: (id, { projectId }) => `/projects/${projectId}/webhooks/${id}`,
})

interface Wanted {
  told?: Partial<Omit<Rows['webhook'], 'eventId'>>
  untold?: Partial<Row>
  /** The names of what is changed, as the API calls it. */
  changed: string[]
}

function change(state: ProjectState, known: Known, row: Row, { told = {}, untold = {}, changed }: Wanted) {
  const revision = row.revision + 1
  const event = updated(state, known, 'webhook.updated', toldOf('webhook', row), { ...told, revision })
  const after = { ...event.after, changed }
  const answer = answered(known, { ...row, ...told, ...untold, revision })
  return { changes: [{ ...event, after, untold }], answer }
}

/** What is delivered next is put together anew. */
const anew = { deliveryId: null, head: null }
/** It is delivered at once, and failures are forgotten. */
const atOnce = { failures: 0, failingSince: null, nextAt: null }

export const updateWebhook = command('webhook.update', {
  ...ofAdmins,
  input: UpdateWebhook,
  decide(state, known, { webhookId, url, types, maxEvents, enabled }) {
    const row = webhookIn(state, webhookId)
    requireMatch(known, answered(known, row))
    const isEnabled = row.disabledAt === null
    const told: Partial<Row> = { types, maxEvents }
    if (enabled !== undefined && enabled !== isEnabled)
      Object.assign(told, { disabledAt: enabled ? null : known.now, disabledReason: null })
    const { disabledAt, ...shown } = differing(row, { url, ...told }) ?? {}
    const isTriedAgain = enabled === true && (row.failures > 0 || row.nextAt !== null)
    const changed = Object.keys(shown).filter((name) => name !== 'disabledReason')
    if (disabledAt !== undefined || isTriedAgain) changed.push('enabled')
    if (changed.length === 0) return { changes: [], answer: answered(known, row) }
    const { url: newUrl, ...fields } = shown
    const untold = {
      ...(newUrl !== undefined && { url: newUrl }),
      ...(('types' in shown || 'maxEvents' in shown) && anew),
      ...((enabled === true || newUrl !== undefined) && atOnce),
    }
    const wanted = { ...fields, ...(disabledAt !== undefined && { disabledAt }) }
    return change(state, known, row, { told: wanted, untold, changed })
  },
  shows: webhookView,
})

export const rotateWebhook = command('webhook.rotate', {
  ...ofAdmins,
  input: RotateWebhook,
  decide(state, known, { webhookId, secret }) {
    const row = webhookIn(state, webhookId)
    requireMatch(known, answered(known, row))
    const formerUntil = new Date(Date.parse(known.now) + formerMs).toISOString()
    const untold = { secret, formerSecret: row.secret, formerUntil }
    return change(state, known, row, { untold, changed: ['secret'] })
  },
  shows: sealedWebhookView,
})

export const replayWebhook = command('webhook.replay', {
  ...ofAdmins,
  input: ReplayWebhook,
  decide(state, known, { webhookId, after }) {
    const row = webhookIn(state, webhookId)
    requireMatch(known, answered(known, row))
    return change(state, known, row, { untold: { cursor: after, ...anew, ...atOnce }, changed: ['cursor'] })
  },
  shows: webhookView,
})

export const deleteWebhook = command('webhook.delete', {
  ...ofAdmins,
  keepsAnswer: false,
  input: WebhookId,
  decide(state, known, { webhookId }) {
    const row = webhookIn(state, webhookId)
    requireMatch(known, answered(known, row))
    const event = removed(state, known, 'webhook.deleted', toldOf('webhook', row))
    return { changes: [event], answer: undefined }
  },
  says: 'Webhook deleted successfully',
})

/** The service gives up, unless somebody changed the webhook since the attempt that failed. */
export const disableWebhook = command('webhook.disable', {
  input: DisableWebhook,
  at: inProject(),
  least: 'nobody',
  needs,
  decide(state, known, { webhookId, revision, reason }) {
    const row = state.row('webhook', webhookId)
    if (
      !state.project ||
      !row ||
      row.disabledAt !== null ||
      (revision !== undefined && row.revision !== revision)
    )
      return { changes: [], answer: undefined }
    const told = { disabledAt: known.now, disabledReason: reason }
    const { changes } = change(state, known, row, { told, untold: { nextAt: null }, changed: ['enabled'] })
    return { changes, answer: undefined }
  },
  says: 'Webhook disabled',
})

export const webhookCommands = [
  ...[createWebhook, updateWebhook, rotateWebhook, replayWebhook, deleteWebhook, disableWebhook],
]
