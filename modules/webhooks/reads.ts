import { Parameters } from '../../src/schema/input.ts'
import type { Query } from '../../src/commands/query.ts'
import { roleNeeded } from '../../src/identity/rights.ts'
import { lastId } from '../../src/ids.ts'
import { Cursor, cut, idPage, Limit, pageOf } from '../../src/reads/pages.ts'
import type { Services } from '../../src/services.ts'
import { notFound } from '../../src/wire/refusals.ts'
import { etagOfWebhook, requireAdmin, webhookAt } from './access.ts'
import { deliveriesOf } from './delivery-rows.ts'
import { deliveryView } from './delivery-view.ts'
import { noWebhook } from './errors.ts'
import { webhooksOf } from './queries.ts'
import { webhookView } from './schema.ts'
import { digested, tagged } from '../../src/wire/answers.ts'

const least = 'Takes the role ADMIN.'
const forAdmins = { scope: 'admin', refuses: [roleNeeded('ADMIN')] } as const

/** What may be asked of webhooks. */
export const webhookReads = (services: Services) => ({
  list: openList(services),
  get: openGet(services),
  deliveries: openDeliveries(services),
})

function openList(services: Services): Query {
  return {
    about: `All of the project's, the oldest first. ${least}`,
    input: Parameters({ limit: Limit(50, 200), cursor: Cursor() }),
    shows: webhookView,
    isList: true,
    ...forAdmins,
    refuses: [...forAdmins.refuses, notFound('Project')],
    async read({ request, caller, query, params: { id = '' } }) {
      const asked = idPage(query, 50, 200)
      const { version } = await requireAdmin(services, caller, id)
      const all = await webhooksOf(services.database.reads, id)
      const rest = all.filter((webhook) => webhook.id > (asked.cursor ?? ''))
      return digested(
        request,
        pageOf(request, cut(rest, asked.limit), webhookView.of, (row) => [row.id]),
        version,
      )
    },
  }
}

function openGet(services: Services): Query {
  return {
    about: `Its \`cursor\` is how far it has got. ${least}`,
    shows: webhookView,
    ...forAdmins,
    refuses: [...forAdmins.refuses, noWebhook(), notFound('Project')],
    async read({ request, caller, params }) {
      const { version } = await requireAdmin(services, caller, params.id ?? '')
      const webhook = await webhookAt(services.database.reads, params)
      const body = JSON.stringify(webhookView.of(webhook))
      return tagged(request, { body, link: null, etag: etagOfWebhook(webhook) }, version)
    },
  }
}

function openDeliveries(services: Services): Query {
  return {
    about: `What was sent and what came back, each attempt for itself, the newest first, for 30 days. ${least}`,
    input: Parameters({ limit: Limit(50, 200), cursor: Cursor() }),
    shows: deliveryView,
    isList: true,
    called: { id: 'listWebhookDeliveries', tag: 'Webhooks' },
    ...forAdmins,
    refuses: [...forAdmins.refuses, noWebhook(), notFound('Project')],
    async read({ request, caller, query, params }) {
      const { limit, cursor } = idPage(query, 50, 200)
      const { version } = await requireAdmin(services, caller, params.id ?? '')
      const webhook = await webhookAt(services.database.reads, params)
      const rows = await deliveriesOf(services.database.reads, webhook.id, cursor ?? lastId, limit)
      return digested(
        request,
        pageOf(request, cut(rows, limit), deliveryView.of, (row) => [row.id]),
        version,
      )
    },
  }
}
