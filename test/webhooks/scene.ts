import { type Body, disposable, eventually, forFile, make, openTestService, register } from '../kit.ts'
import type { TestService } from '../kit.ts'
import { openReceiver, type Respond } from './receiver.ts'

export type Hook = Body & {
  secret: string
  enabled: boolean
  cursor: number
  failures: number
  disabledReason: string | null
  nextAttemptAt: string | null
}

export type Scene = Awaited<ReturnType<typeof openSceneOn>>

/** Opens a service with workers for all tests of the file, and returns `openScene`. */
export async function openWebhooks() {
  // Commits wait for locks that a test holds.
  const shared = await forFile(openTestService({ LOCK_TIMEOUT_MS: '30000', HISTORY_DAYS: '30' }))
  shared.startWorkers()
  return (overrides?: Record<string, string>, respond?: Respond) => openSceneOn(shared, overrides, respond)
}

/** Opens a user with a project and a receiver. Settings in `overrides` start a separate service. */
async function openSceneOn(shared: TestService, overrides?: Record<string, string>, respond?: Respond) {
  const service = overrides ? await openTestService(overrides) : shared
  const [ada, receiver] = [await register(service.client), await openReceiver(respond)]
  const { id: projectId } = await make(ada, '/projects', { name: 'Engine' })
  if (overrides) service.startWorkers()
  const sql = service.services.database.background
  const all = `/projects/${projectId}/webhooks`
  const path = (id: string) => `${all}/${id}`
  const state = async (id: string) => (await ada.get(path(id))).body as Hook
  return disposable({
    ...{ service, ada, receiver, projectId, sql, all, path, state },
    hook: async (over: object = {}, at = '/') =>
      (await make(ada, all, { url: receiver.url + at, ...over })) as Hook,
    async createTasks(count: number) {
      for (let n = 0; n < count; n++) await make(ada, '/tasks', { title: `T${n}`, projectId })
    },
    change: async (id: string, fields: object) => (await ada.patch(path(id), fields)).body as Hook,
    /** Waits until the webhook has this value. */
    until: <Key extends 'cursor' | 'failures' | 'enabled'>(id: string, key: Key, value: Hook[Key]) =>
      eventually(`${key} = ${value}`, async () => (await state(id))[key] === value),
    attempts: async (id: string) => (await ada.get(`${path(id)}/deliveries`)).body,
    /** Makes waiting retries due now, after so many days of failures. */
    hurry: (days = 0) => sql`
      update webhooks set next_at = now(), failing_since = failing_since - ${days}::int4 * interval '1 day'
      where next_at is not null`,
    async close() {
      await receiver.close()
      if (overrides) return service.close()
      await sql`delete from webhooks`
      await sql`delete from webhook_deliveries`
    },
  })
}
