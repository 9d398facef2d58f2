import { openClient } from '../test/support/client.ts'
import { eachOf, type Seeded } from './seed.ts'

export interface Hook {
  path: string
  token: string
  projectId: string
}

/** Creates a webhook for each project. */
export const makeHooks = (server: string, projects: Seeded[], url: string): Promise<Hook[]> =>
  eachOf(projects, async ({ id: projectId, token }) => {
    const path = `/projects/${projectId}/webhooks`
    const answer = await openClient(server, token).post(path, { url })
    if (answer.status !== 201) throw new Error(`A webhook was answered ${answer.status} ${answer.text}`)
    return { path: `${path}/${answer.body.id}`, token, projectId }
  })

export const enable = (server: string, hooks: Hook[], enabled: boolean) =>
  eachOf(hooks, ({ path, token }) => openClient(server, token).patch(path, { enabled }))

/** Moves the cursors to the end, so that earlier events are not delivered. */
export const leaveOut = (server: string, hooks: Hook[]) =>
  eachOf(hooks, async ({ path, token, projectId }) => {
    const client = openClient(server, token)
    const { headers } = await client.get(`/projects/${projectId}`)
    await client.post(`${path}/replay`, { after: Number(headers.get('docket-version')) })
  })
