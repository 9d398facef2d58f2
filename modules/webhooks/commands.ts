import { accountIdOf } from '../../src/id-format.ts'
import type { ProjectState } from '../../src/actor/state.ts'
import { command, inProject, type RuleContext } from '../../src/commands/command.ts'
import { loggedRow } from '../../src/log/rows.ts'
import type { StoredRows } from '../../src/model/entities.ts'
import { created, diff, deleted, updated } from '../../src/model/events.ts'
import { requireMatch } from '../../src/responses/if-match.ts'
import { aheadOfProject, eventsExpired, badRequest, conflict, notFound } from '../../src/responses/errors.ts'
import { freeSlot } from '../members/integrations.ts'
import { integrationFacts } from '../members/loaded-integrations.ts'
import {
  CreateWebhook,
  DisableWebhook,
  ReplayWebhook,
  revisionTag,
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
const tooManyWebhooks = (limit: number) => conflict(`A project has at most ${limit} webhooks`)
export const unreadableSecret = () => conflict('The secret cannot be decrypted: rotate the secret')
export const badUrl = (problem: string) => badRequest(`url ${problem}`)

const preload = () => integrationFacts({ webhooks: true })
const adminCommand = {
  target: inProject(),
  role: 'ADMIN',
  preload,
  storesReply: true,
  isSecret: true,
} as const

/** Returns undefined for an absent field, and null for null. */
const actorOf = (actor: string | null | undefined, { caller }: RuleContext) =>
  actor && accountIdOf(actor, caller.userId)
const textOf = (types: string[] | null) => types && [...new Set(types)].join(' ')
/** For this time after a rotation, deliveries are also signed with the previous secret. */
const previousSecretMs = 24 * 3_600_000

/** Row fields that discard the assembled delivery, so that a worker assembles a new delivery. */
const newDelivery = { deliveryId: null, head: null }
/** Row fields that clear the failures and make the next delivery due immediately. */
const resetFailures = { failures: 0, failingSince: null, nextAt: null }

function requireWebhook(state: ProjectState, context: RuleContext, webhookId: string): Row {
  const row = state.row('webhook', webhookId)
  if (!row) throw noWebhook()
  requireMatch(context, toResponse(context, row))
  return row
}

function toResponse({ caller }: RuleContext, row: Row): Webhook & { eventId: string } {
  const creatorExists = row.hasCreator || row.createdBy === caller.userId
  return { ...row, createdBy: creatorExists ? row.createdBy : null, ...revisionTag(row) }
}

/** @param changed the names of the changed fields in the API */
function updateRow(
  state: ProjectState,
  context: RuleContext,
  row: Row,
  fields: Partial<Row>,
  changed: string[],
) {
  const next = { ...row, ...fields, revision: row.revision + 1 }
  const event = updated(
    state,
    context,
    'webhook.updated',
    loggedRow('webhook', row),
    loggedRow('webhook', next),
  )
  const after = { ...event.after, changed }
  return { changes: [{ ...event, after, unlogged: fields }], answer: toResponse(context, next) }
}

export const createWebhook = command('webhook.create', {
  ...adminCommand,
  about:
    'From now on, Docket posts every event of the project, or only events of the given `types`, or those of accounts other than `exceptActorId`, to the URL. Events are delivered in order and at least once. A request contains at most `maxEvents` events, in the body `{"type": "events", "timestamp": …, "data": {"projectId": …, "events": […]}}`, and is signed according to Standard Webhooks. Only this response shows the `secret`; a retry with the same Idempotency-Key repeats the response.',
  input: CreateWebhook,
  preparedFields: ['secret'],
  decide(
    state,
    context,
    { url, types = null, maxEvents = 100, exceptActorId = null, enabled = true, secret },
  ) {
    const all = state.all('webhook')
    const { projectWebhooks } = context.limits
    if (all.length >= projectWebhooks) throw tooManyWebhooks(projectWebhooks)
    const row = {
      ...{ id: context.newId(), projectId: state.projectId, slot: freeSlot(all), revision: 1 },
      ...{ url, types: textOf(types), maxEvents, exceptActorId: actorOf(exceptActorId, context) ?? null },
      ...{ secret, formerSecret: null, formerUntil: null },
      ...{ createdBy: context.caller.userId, createdAt: context.now, eventId: null },
      ...{ disabledAt: enabled ? null : context.now, disabledReason: null, leaseBy: null, leaseUntil: null },
      // The webhook does not receive the event of its own creation.
      ...{ ...newDelivery, ...resetFailures, cursor: state.version + 1 },
    }
    const event = created(state, context, 'webhook.created', loggedRow('webhook', row))
    const { eventId: _, ...unlogged } = row
    return { changes: [{ ...event, unlogged }], answer: toResponse(context, row) }
  },
  view: sealedWebhookView,
  status: 201,
  location: (id, { projectId }) => `/projects/${projectId}/webhooks/${id}`,
  errors: [badUrl('must begin with https://'), tooManyWebhooks(100)],
})

export const updateWebhook = command('webhook.update', {
  ...adminCommand,
  about:
    'Absent fields do not change. When the webhook is enabled again or gets another URL, delivery continues immediately after the last delivered event.',
  input: UpdateWebhook,
  body: UpdateWebhookBody,
  decide(state, context, { webhookId, url, types, maxEvents, exceptActorId, enabled }) {
    const row = requireWebhook(state, context, webhookId)
    const isToggled = enabled !== undefined && enabled === (row.disabledAt !== null)
    const isRetriedNow = enabled === true && (row.failures > 0 || row.nextAt !== null)
    const filter = {
      types: types && textOf(types),
      maxEvents,
      exceptActorId: actorOf(exceptActorId, context),
    }
    const fieldChanges = diff<Partial<Row>>(row, { url, ...filter }) ?? {}
    const changed = Object.keys(fieldChanges)
    if (isToggled || isRetriedNow) changed.push('enabled')
    if (changed.length === 0) return { changes: [], answer: toResponse(context, row) }
    const fields = {
      ...fieldChanges,
      ...(isToggled && { disabledAt: enabled ? null : context.now, disabledReason: null }),
      ...(changed.some((name) => name in filter) && newDelivery),
      ...((enabled === true || 'url' in fieldChanges) && resetFailures),
    }
    return updateRow(state, context, row, fields, changed)
  },
  view: webhookView,
  errors: [badUrl('must begin with https://'), noWebhook()],
})

export const rotateWebhook = command('webhook.rotate', {
  ...adminCommand,
  about:
    'Creates a new secret, which only this response shows. For 24 hours, deliveries have two signatures: first with the new secret, then with the previous secret.',
  input: RotateWebhook,
  preparedFields: ['secret'],
  decide(state, context, { webhookId, secret }) {
    const row = requireWebhook(state, context, webhookId)
    const formerUntil = new Date(Date.parse(context.now) + previousSecretMs).toISOString()
    return updateRow(state, context, row, { secret, formerSecret: row.secret, formerUntil }, ['secret'])
  },
  view: sealedWebhookView,
  errors: [noWebhook()],
})

export const replayWebhook = command('webhook.replay', {
  ...adminCommand,
  about:
    'Delivery continues with the event after the seq `after`. A seq below the current `cursor` repeats events; a seq above the `cursor` skips events.',
  input: ReplayWebhook,
  decide(state, context, { webhookId, after }) {
    if (after > state.version) throw aheadOfProject()
    const row = requireWebhook(state, context, webhookId)
    return updateRow(state, context, row, { cursor: after, ...newDelivery, ...resetFailures }, ['cursor'])
  },
  view: webhookView,
  errors: [aheadOfProject(), eventsExpired(17), noWebhook()],
})

export const deleteWebhook = command('webhook.delete', {
  ...adminCommand,
  storesReply: false,
  about: 'Stops deliveries to the webhook, and deletes the list of past deliveries.',
  input: WebhookId,
  decide(state, context, { webhookId }) {
    const row = requireWebhook(state, context, webhookId)
    const event = deleted(state, context, 'webhook.deleted', loggedRow('webhook', row))
    return { changes: [event], answer: undefined }
  },
  message: 'Webhook deleted successfully',
  errors: [noWebhook()],
})

/** Disables a failing webhook, unless the webhook was changed after the failed attempt. */
export const disableWebhook = command('webhook.disable', {
  input: DisableWebhook,
  target: inProject(),
  role: null,
  preload,
  decide(state, context, { webhookId, revision, reason }) {
    const row = state.row('webhook', webhookId)
    const isCurrent = row?.disabledAt === null && row.revision === revision
    if (!state.project || !isCurrent) return { changes: [], answer: undefined }
    const fields = { disabledAt: context.now, disabledReason: reason, nextAt: null }
    return { ...updateRow(state, context, row, fields, ['enabled']), answer: undefined }
  },
  message: 'Webhook disabled',
})

export const webhookCommands = [
  createWebhook,
  updateWebhook,
  rotateWebhook,
  replayWebhook,
  deleteWebhook,
  disableWebhook,
]
