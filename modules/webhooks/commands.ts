import type { ProjectState } from '../../src/actor/state.ts'
import { command, inProject, type RuleContext } from '../../src/commands/command.ts'
import { withoutSecrets } from '../../src/log/rows.ts'
import type { StoredRows } from '../../src/model/entities.ts'
import { created, diff, deleted, updated } from '../../src/model/events.ts'
import { requireMatch } from '../../src/responses/if-match.ts'
import { badRequest, conflict, notFound } from '../../src/responses/errors.ts'
import { freeSlot } from '../creations/entity.ts'
import {
  CreateWebhook,
  DisableWebhook,
  RotateWebhook,
  sealedWebhookView,
  UpdateWebhook,
  UpdateWebhookBody,
  type Webhook,
  WebhookId,
  webhookView,
} from './schema.ts'

type Row = StoredRows['webhook']

export const noWebhook = () => notFound('Webhook')
const tooManyWebhooks = (most: number) => conflict(`A project has at most ${most} webhooks`)
export const unreadableSecret = () => conflict('The secret cannot be read any more: rotate it')
export const badUrl = (wants: string) => badRequest(`url ${wants}`)

const preload = () => ({ integrations: [{ webhooks: true as const }] })
export const adminCommand = {
  target: inProject(),
  role: 'ADMIN',
  preload,
  storesReply: true,
  isSecret: true,
} as const

const textOf = (types: string[] | null) => types && [...new Set(types)].join(' ')
/** How long the previous secret signs too. */
const previousSecretMs = 24 * 3_600_000

/** Assembles the next delivery again. */
export const newDelivery = { deliveryId: null, head: null }
/** Delivers at once, and forgets failures. */
export const resetFailures = { failures: 0, failingSince: null, nextAt: null }

/** @throws HttpError 404, and 412 for another If-Match */
export function requireWebhook(state: ProjectState, known: RuleContext, webhookId: string): Row {
  const row = state.row('webhook', webhookId)
  if (!row) throw noWebhook()
  requireMatch(known, toResponse(known, row))
  return row
}

function toResponse({ caller }: RuleContext, row: Row): Webhook & { eventId: string } {
  const isThere = row.hasCreator || row.createdBy === caller.userId
  return { ...row, createdBy: isThere ? row.createdBy : null, eventId: `${row.id}-${row.revision}` }
}

/** @param changed the names of the changed fields in the API */
export function updateRow(
  state: ProjectState,
  known: RuleContext,
  row: Row,
  fields: Partial<Row>,
  changed: string[],
) {
  const next = { ...row, ...fields, revision: row.revision + 1 }
  const event = updated(
    state,
    known,
    'webhook.updated',
    withoutSecrets('webhook', row),
    withoutSecrets('webhook', next),
  )
  const after = { ...event.after, changed }
  return { changes: [{ ...event, after, unlogged: fields }], answer: toResponse(known, next) }
}

export const createWebhook = command('webhook.create', {
  ...adminCommand,
  about:
    'Every event of the project from now on, or of some `types`, is posted to the URL: in order, at least once, `maxEvents` at most in one body `{"type": "events", "timestamp": …, "data": {"projectId": …, "events": […]}}`, signed as Standard Webhooks say. The answer shows the `secret`, and nothing ever again but a repeat under its Idempotency-Key.',
  input: CreateWebhook,
  preparedFields: ['secret'],
  decide(state, known, { url, types = null, maxEvents = 100, enabled = true, secret }) {
    const all = state.all('webhook')
    const { projectWebhooks } = known.limits
    if (all.length >= projectWebhooks) throw tooManyWebhooks(projectWebhooks)
    const row = {
      ...{ id: known.newId(), projectId: state.projectId, slot: freeSlot(all), revision: 1 },
      ...{ url, types: textOf(types), maxEvents, secret, formerSecret: null, formerUntil: null },
      ...{ createdBy: known.caller.userId, createdAt: known.now, eventId: null },
      ...{ disabledAt: enabled ? null : known.now, disabledReason: null, leaseBy: null, leaseUntil: null },
      ...{ ...newDelivery, ...resetFailures, cursor: state.version + 1 }, // it begins after its own creation
    }
    const event = created(state, known, 'webhook.created', withoutSecrets('webhook', row))
    const { eventId: _, ...unlogged } = row
    return { changes: [{ ...event, unlogged }], answer: toResponse(known, row) }
  },
  view: sealedWebhookView,
  status: 201,
  location: (id, { projectId }) => `/projects/${projectId}/webhooks/${id}`,
  errors: [badUrl('must begin with https://'), tooManyWebhooks(100)],
})

export const updateWebhook = command('webhook.update', {
  ...adminCommand,
  about: 'Absent fields stay. Enabled again, or led elsewhere, it goes on where it stopped, and at once.',
  input: UpdateWebhook,
  body: UpdateWebhookBody,
  decide(state, known, { webhookId, url, types, maxEvents, enabled }) {
    const row = requireWebhook(state, known, webhookId)
    const isSwitched = enabled !== undefined && enabled === (row.disabledAt !== null)
    const isTriedAgain = enabled === true && (row.failures > 0 || row.nextAt !== null)
    const shown = diff<Partial<Row>>(row, { url, types: types && textOf(types), maxEvents }) ?? {}
    const changed = Object.keys(shown)
    if (isSwitched || isTriedAgain) changed.push('enabled')
    if (changed.length === 0) return { changes: [], answer: toResponse(known, row) }
    const fields = {
      ...shown,
      ...(isSwitched && { disabledAt: enabled ? null : known.now, disabledReason: null }),
      ...(('types' in shown || 'maxEvents' in shown) && newDelivery),
      ...((enabled === true || 'url' in shown) && resetFailures),
    }
    return updateRow(state, known, row, fields, changed)
  },
  view: webhookView,
  errors: [badUrl('must begin with https://'), noWebhook()],
})

export const rotateWebhook = command('webhook.rotate', {
  ...adminCommand,
  about: 'For 24 hours deliveries are signed with both, the new one first; the answer shows it.',
  input: RotateWebhook,
  preparedFields: ['secret'],
  replyDescription: 'Done',
  decide(state, known, { webhookId, secret }) {
    const row = requireWebhook(state, known, webhookId)
    const formerUntil = new Date(Date.parse(known.now) + previousSecretMs).toISOString()
    return updateRow(state, known, row, { secret, formerSecret: row.secret, formerUntil }, ['secret'])
  },
  view: sealedWebhookView,
  errors: [noWebhook()],
})

export const deleteWebhook = command('webhook.delete', {
  ...adminCommand,
  storesReply: false,
  about: 'Nothing more is sent, and what it was sent is forgotten.',
  input: WebhookId,
  replyDescription: 'Deleted',
  decide(state, known, { webhookId }) {
    const row = requireWebhook(state, known, webhookId)
    const event = deleted(state, known, 'webhook.deleted', withoutSecrets('webhook', row))
    return { changes: [event], answer: undefined }
  },
  message: 'Webhook deleted successfully',
  errors: [noWebhook()],
})

/** The service gives up, unless somebody changed the webhook since the attempt that failed. */
export const disableWebhook = command('webhook.disable', {
  input: DisableWebhook,
  target: inProject(),
  role: 'nobody',
  preload,
  decide(state, known, { webhookId, revision, reason }) {
    const row = state.row('webhook', webhookId)
    const isCurrent = row?.disabledAt === null && row.revision === (revision ?? row.revision)
    if (!state.project || !isCurrent) return { changes: [], answer: undefined }
    const fields = { disabledAt: known.now, disabledReason: reason, nextAt: null }
    return { ...updateRow(state, known, row, fields, ['enabled']), answer: undefined }
  },
  message: 'Webhook disabled',
})

export const webhookCommands = [createWebhook, updateWebhook, rotateWebhook, deleteWebhook, disableWebhook]
