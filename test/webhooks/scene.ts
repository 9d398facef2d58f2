import { make, type Body, type Person, register } from '../support/client.ts'
import { openTestService, type TestService } from '../support/service.ts'
import { openReceiver, type Manners, type Receiver } from './receiver.ts'

export type Hook = Body & {
  secret: string
  enabled: boolean
  cursor: number
  failures: number
  disabledReason: string | null
  nextAttemptAt: string | null
}

/** A service with its worker, somebody who has a project, and a receiver. */
export interface Scene {
  service: TestService
  ada: Person
  receiver: Receiver
  projectId: string
  /** Makes a webhook of the project, at a path of the receiver. */
  hook(over?: object, path?: string): Promise<Hook>
  /** Creates so many tasks, one after another. */
  work(count: number): Promise<void>
  path(id: string): string
  /** The webhook as it is now. */
  state(id: string): Promise<Hook>
  /** Makes a retry, or whatever a webhook waits for, due now. */
  hurry(): Promise<unknown>
  close(): Promise<void>
}

export async function openScene(overrides: Record<string, string> = {}, manners?: Manners): Promise<Scene> {
  const service = await openTestService(overrides)
  const [ada, receiver] = [await register(service.client), await openReceiver(manners)]
  const { id: projectId } = await make(ada, '/projects', { name: 'Engine' })
  service.startWorkers()
  const path = (id: string) => `/projects/${projectId}/webhooks/${id}`
  return {
    path,
    state: async (id) => (await ada.get(path(id))).body as Hook,
    ...{ service, ada, receiver, projectId },
    hook: async (over = {}, path = '/') =>
      (await make(ada, `/projects/${projectId}/webhooks`, { url: receiver.url + path, ...over })) as Hook,
    async work(count) {
      for (let n = 0; n < count; n++) await make(ada, '/tasks', { title: `T${n}`, projectId })
    },
    hurry: () =>
      service.services.database.chores`update webhooks set next_at = now() where next_at is not null`,
    async close() {
      await receiver.close()
      await service.close()
    },
  }
}
