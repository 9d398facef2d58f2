import { expect, test } from 'bun:test'
import { webhookFamilies } from '../../workers/webhooks/families.ts'
import { make, register } from '../support/client.ts'
import { forFile, openTestService } from '../support/service.ts'

const service = await forFile(openTestService({ WEBHOOK_ALLOW_HTTP: 'on', WEBHOOK_ALLOW_PRIVATE: 'on' }))

async function told() {
  const families = await webhookFamilies(service.services.database.chores)
  return Object.fromEntries(
    families.flatMap(({ name, values }) =>
      values.map(({ labels, value }) => [[name, ...Object.values(labels)].join(' '), value]),
    ),
  )
}

test('webhooks show by how they are, and how far the last one is behind unless its receiver fails', async () => {
  expect(await told()).toMatchObject({
    'docket_webhooks enabled': 0,
    'docket_follower_lag_seconds webhook': 0,
  })
  const ada = await register(service.client)
  const { id: projectId } = await make(ada, '/projects', { name: 'Hooked' })
  const hook = (path: string) =>
    make(ada, `/projects/${projectId}/webhooks`, { url: `http://127.0.0.1:9/${path}` })
  const [, failing, ended] = [await hook('a'), await hook('b'), await hook('c')]
  for (const title of ['One', 'Two']) await make(ada, '/tasks', { title, projectId })
  const { chores: sql } = service.services.database
  await sql`update webhooks set failures = 3, cursor = 0 where id = ${failing!.id}`
  await sql`update webhooks set disabled_at = now(), cursor = 0 where id = ${ended!.id}`
  await sql`update events set at = now() - interval '90 s' where project_id = ${projectId} and seq = 3`
  const now = await told()
  expect(now).toMatchObject({
    'docket_webhooks enabled': 1,
    'docket_webhooks failing': 1,
    'docket_webhooks disabled': 1,
    'docket_follower_lag_events webhook': 4,
  })
  expect(now['docket_follower_lag_seconds webhook']).toBeGreaterThan(89)
})
