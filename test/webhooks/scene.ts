import { type Body, disposable, forFile, make, openTestService, register, type TestService } from '../kit.ts'
import { type Respond, openReceiver } from './receiver.ts'

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
  const shared = await forFile(openTestService({ LOCK_TIMEOUT_MS: '30000' }))
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
  const path = (id: string) => `/projects/${projectId}/webhooks/${id}`
  return disposable({
    path,
    state: async (id: string) => (await ada.get(path(id))).body as Hook,
    ...{ service, ada, receiver, projectId },
    hook: async (over: object = {}, at = '/') =>
      (await make(ada, `/projects/${projectId}/webhooks`, { url: receiver.url + at, ...over })) as Hook,
    async createTasks(count: number) {
      for (let n = 0; n < count; n++) await make(ada, '/tasks', { title: `T${n}`, projectId })
    },
    sql,
    /** Makes waiting retries due now. */
    hurry: () => sql`update webhooks set next_at = now() where next_at is not null`,
    async close() {
      await receiver.close()
      if (overrides) return service.close()
      await sql`delete from webhooks`
      await sql`delete from webhook_deliveries`
    },
  })
}
