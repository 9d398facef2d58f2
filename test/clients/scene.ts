import { Docket } from '../../clients/typescript/src/docket.ts'
import type { TransportOptions } from '../../clients/typescript/src/transport.ts'
import { forFile, invite, openTestService, register, upTo } from '../kit.ts'

export const origin = 'http://localhost'

/** Opens a service in this process and a client with the rights of a new user. */
export async function openClientScene(env: Record<string, string> = {}) {
  const service = await forFile(openTestService(env))
  const ada = await register(service.client, 'Ada')
  const send = (url: string, init?: RequestInit) => service.fetch(url.slice(origin.length), init)
  const open = (over: Partial<TransportOptions> = {}) =>
    new Docket({ url: origin, token: ada.token!, fetch: send, ...over })
  const docket = open()
  /** Creates a project with the tasks T1, T2 and so on. */
  const newProject = async (tasks = 0) => {
    const { id } = await docket.projects.create({ name: 'Engine' })
    for (const n of upTo(tasks)) await docket.tasks.create({ projectId: id, title: `T${n}` })
    return { id, project: docket.project(id), list: () => docket.tasks.list({ projectId: id }).all() }
  }
  /** Adds a new user to a project. */
  const join = async (projectId: string, name: string, role = 'EDITOR') => {
    const person = await register(service.client, name)
    const { id } = await invite(ada, projectId, person, role)
    const leave = () => docket.members.delete(id, { projectId })
    return { ...person, leave, docket: open({ token: person.token! }) }
  }
  return { service, ada, send, open, docket, newProject, join }
}
