import { isId } from '../../src/ids.ts'
import type { StoredRows } from '../../src/model/entities.ts'
import { disableWebhook } from '../../modules/webhooks/commands.ts'
import { worker } from '../cascade.ts'
import { type Errand, knownId, plain, runCommand, table, type Topic, Wrong } from './topic.ts'

const mostListed = 100
const reason = 'An operator of the service disabled it'

export const webhooks: Topic = {
  list: ['[project]', `of a project or of all, those in trouble first; at most ${mostListed}`, list],
  disable: ['<id>', 'send nothing more; enabled again it goes on where it stopped', disable],
}

type Row = StoredRows['webhook'] & { behind: number }

async function list({ sql }: Errand, projectId = ''): Promise<string> {
  if (projectId && !isId(projectId)) throw new Wrong(`${projectId} is not the id of a project`)
  const rows = await sql<Row[]>`
    select w.id, w.project_id, w.url, (s.version - w.cursor)::float8 as behind, w.failures, w.failing_since,
      w.disabled_at, w.disabled_reason
    from webhooks w join streams s on s.project_id = w.project_id
    where ${projectId} = '' or w.project_id::text = ${projectId}
    order by w.disabled_at is null desc, w.failures desc, w.id limit ${mostListed}`
  // Only the origin of the URL: its path may be a secret of the receiver.
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

async function disable(errand: Errand, id = ''): Promise<string> {
  const [found] = await errand.sql<{ projectId: string }[]>`
    select project_id from webhooks where id = ${knownId(id)} and disabled_at is null`
  if (!found) throw new Wrong(`No webhook that is enabled has the id ${id}`)
  const input = { projectId: found.projectId, webhookId: id, reason }
  await runCommand(errand, { name: disableWebhook.name, input, caller: { userId: worker } })
  return `${id} is disabled`
}
