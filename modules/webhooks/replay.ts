import { command } from '../../src/commands/command.ts'
import { eventsExpired } from '../../src/reads/retention.ts'
import { aheadOfProject } from '../events/parameters.ts'
import { newDelivery, resetFailures, updateRow, noWebhook, adminCommand, requireWebhook } from './commands.ts'
import { ReplayWebhook, webhookView } from './schema.ts'

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
