import type { StoredRows } from '../../src/model/entities.ts'
import { command, inProject } from '../../src/commands/command.ts'
import { appeared, differing, removed } from '../../src/model/events.ts'
import { toldOf } from '../../src/log/rows.ts'
import {
  anew,
  answered,
  atOnce,
  badUrl,
  change,
  full,
  needs,
  noWebhook,
  ofAdmins,
  webhookIn,
} from './rows.ts'
import {
  CreateWebhook,
  DisableWebhook,
  RotateWebhook,
  sealedWebhookView,
  UpdateWebhook,
  UpdateWebhookBody,
  WebhookId,
  webhookView,
} from './schema.ts'

const textOf = (types: string[] | null) => types && [...new Set(types)].join(' ')
/** How long the previous secret signs too. */
const formerMs = 24 * 3_600_000

export const createWebhook = command('webhook.create', {
  ...ofAdmins,
  about:
    'Every event of the project from now on, or of some `types`, is posted to the URL: in order, at least once, `maxEvents` at most in one body `{"type": "events", "timestamp": …, "data": {"projectId": …, "events": […]}}`, signed as Standard Webhooks say. The answer shows the `secret`, and nothing ever again but a repeat under its Idempotency-Key.',
  input: CreateWebhook,
  prepared: ['secret'],
  decide(state, known, { url, types = null, maxEvents = 100, enabled = true, secret }) {
    const all = state.all('webhook')
    const { projectWebhooks } = known.limits
    if (all.length >= projectWebhooks) throw full(projectWebhooks)
    const used = new Set(all.map((row) => row.slot))
    let slot = 1
    while (used.has(slot)) slot++
    const told = {
      ...{ id: known.newId(), projectId: state.projectId, revision: 1, types: textOf(types), maxEvents },
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
  refuses: [badUrl('must begin with https://'), full(100)],
})

export const updateWebhook = command('webhook.update', {
  ...ofAdmins,
  about: 'Absent fields stay. Enabled again, or led elsewhere, it goes on where it stopped, and at once.',
  input: UpdateWebhook,
  body: UpdateWebhookBody,
  decide(state, known, { webhookId, url, types, maxEvents, enabled }) {
    const row = webhookIn(state, known, webhookId)
    const isEnabled = row.disabledAt === null
    const told: Partial<StoredRows['webhook']> = { types: types && textOf(types), maxEvents }
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
  refuses: [badUrl('must begin with https://'), noWebhook()],
})

export const rotateWebhook = command('webhook.rotate', {
  ...ofAdmins,
  about: 'For 24 hours deliveries are signed with both, the new one first; the answer shows it.',
  input: RotateWebhook,
  prepared: ['secret'],
  done: 'Done',
  does: 'add',
  decide(state, known, { webhookId, secret }) {
    const row = webhookIn(state, known, webhookId)
    const formerUntil = new Date(Date.parse(known.now) + formerMs).toISOString()
    const untold = { secret, formerSecret: row.secret, formerUntil }
    return change(state, known, row, { untold, changed: ['secret'] })
  },
  shows: sealedWebhookView,
  refuses: [noWebhook()],
})

export const deleteWebhook = command('webhook.delete', {
  ...ofAdmins,
  keepsAnswer: false,
  about: 'Nothing more is sent, and what it was sent is forgotten.',
  input: WebhookId,
  done: 'Deleted',
  decide(state, known, { webhookId }) {
    const row = webhookIn(state, known, webhookId)
    const event = removed(state, known, 'webhook.deleted', toldOf('webhook', row))
    return { changes: [event], answer: undefined }
  },
  says: 'Webhook deleted successfully',
  refuses: [noWebhook()],
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

export const webhookCommands = [createWebhook, updateWebhook, rotateWebhook, deleteWebhook, disableWebhook]
