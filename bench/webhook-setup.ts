import { openClient } from '../test/support/client.ts'
import { eachOf, type ResourceRef } from './seed.ts'

export interface BenchWebhook {
  path: string
  token: string
  projectId: string
}

export const createWebhooks = (
  server: string,
  projects: ResourceRef[],
  url: string,
): Promise<BenchWebhook[]> =>
  eachOf(projects, async ({ id: projectId, token }) => {
    const path = `/projects/${projectId}/webhooks`
    const answer = await openClient(server, token).post(path, { url })
    if (answer.status !== 201) throw new Error(`A webhook was answered ${answer.status} ${answer.text}`)
    return { path: `${path}/${answer.body.id}`, token, projectId }
  })

export const enable = (server: string, hooks: BenchWebhook[], enabled: boolean) =>
  eachOf(hooks, ({ path, token }) => openClient(server, token).patch(path, { enabled }))

/** Moves the cursors to the end, so that earlier events are not delivered. */
export const skipEvents = (server: string, hooks: BenchWebhook[]) =>
  eachOf(hooks, async ({ path, token, projectId }) => {
    const client = openClient(server, token)
    const { headers } = await client.get(`/projects/${projectId}`)
    await client.post(`${path}/replay`, { after: Number(headers.get('docket-version')) })
  })
