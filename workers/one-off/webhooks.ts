import { isId } from '../../src/id-format.ts'
import type { StoredRows } from '../../src/model/entities.ts'
import { disableWebhook } from '../../modules/webhooks/commands.ts'
import { workerActor } from '../cascade.ts'
import {
  type AdminContext,
  idOrNil,
  plain,
  table,
  type CommandGroup,
  AdminError,
  runCommand,
} from './command-group.ts'

const maxListed = 100
const reason = 'An operator of the service disabled the webhook'

export const webhooks: CommandGroup = {
  list: ['[project]', `lists webhooks, of one project or of all, failing first; at most ${maxListed}`, list],
  disable: ['<id>', 'stops deliveries until an admin of the project enables the webhook again', disable],
}

type Row = StoredRows['webhook'] & { behind: number }

async function list({ sql }: AdminContext, projectId = ''): Promise<string> {
  if (projectId && !isId(projectId)) throw new AdminError(`"${plain(projectId)}" is not a project id`)
  const rows = await sql<Row[]>`
    select w.id, w.project_id, w.url, (s.version - w.cursor)::float8 as behind, w.failures, w.failing_since,
      w.disabled_at, w.disabled_reason
    from webhooks w join streams s on s.project_id = w.project_id
    where ${projectId} = '' or w.project_id::text = ${projectId}
    order by w.disabled_at is null desc, w.failures desc, w.id limit ${maxListed}`
  // The list shows only the origin of the URL, because the path may contain a secret of the receiver.
  const lines = rows.map((row) => [row.id, `project ${row.projectId}`, new URL(row.url).origin, stateOf(row)])
  return table(lines) || 'No webhook'
}

function stateOf({ behind, failures, failingSince, disabledAt, disabledReason }: Row): string {
  const state = disabledAt
    ? `disabled since ${disabledAt}${disabledReason ? `: ${plain(disabledReason)}` : ''}`
    : failures > 0
      ? `failed ${failures} times since ${failingSince}`
      : 'enabled'
  return `${state}, ${behind} events behind`
}

async function disable(context: AdminContext, id = ''): Promise<string> {
  const [webhook] = await context.sql<{ projectId: string }[]>`
    select project_id from webhooks where id = ${idOrNil(id)} and disabled_at is null`
  if (!webhook) throw new AdminError(`No enabled webhook has the id ${id}`)
  const input = { projectId: webhook.projectId, webhookId: id, reason }
  await runCommand(context, { name: disableWebhook.name, input, caller: { userId: workerActor } })
  return `${id} is disabled`
}
