import { command } from '../../src/commands/command.ts'
import { eventsExpired } from '../../src/reads/retention.ts'
import { aheadOfProject } from '../events/parameters.ts'
import { anew, atOnce, change, noWebhook, ofAdmins, webhookIn } from './commands.ts'
import { ReplayWebhook, webhookView } from './schema.ts'

export const replayWebhook = command('webhook.replay', {
  ...ofAdmins,
  about: 'It goes on after the event `after`, be that before or behind where it is.',
  input: ReplayWebhook,
  decide(state, known, { webhookId, after }) {
    if (after > state.version) throw aheadOfProject()
    const row = webhookIn(state, known, webhookId)
    return change(state, known, row, { cursor: after, ...anew, ...atOnce }, ['cursor'])
  },
  view: webhookView,
  errors: [aheadOfProject(), eventsExpired(17), noWebhook()],
})
