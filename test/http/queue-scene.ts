import { type Answer, type Body, invite, make, openScene, type Person, readFeed, versionOf } from '../kit.ts'

interface Claim {
  by: { id: string; name: string }
  until: string
  seq: number
}

export const claimIn = ({ body }: Pick<Answer, 'body'>) => (body as Body & { claim: Claim | null }).claim

/** Before each test, Ada creates a project with the EDITOR Bea and with the task `Draw`: events 1 to 3. */
export async function openQueue() {
  const scene = await openScene(['Ada', 'Bea'])
  const { ada, bea, service } = scene
  const at = { projectId: '', taskId: '', memberId: '' }
  beforeEach(async () => {
    at.projectId = (await make(ada, '/projects', { name: 'Queue' })).id
    at.memberId = (await invite(ada, at.projectId, bea, 'EDITOR')).id
    at.taskId = (await make(ada, '/tasks', { projectId: at.projectId, title: 'Draw' })).id
  })
  const project = () => `/projects/${at.projectId}`
  const next = (body: object = {}, by: Person = ada, headers = {}) =>
    by.post(`${project()}/claim-next`, { leaseSeconds: 60, ...body }, headers)
  /** Returns the title of the claimed task, or the status. */
  const take = async (body: object = {}, by: Person = ada) => titleIn(await next(body, by))
  return Object.assign(scene, {
    at,
    next,
    take,
    async takeAll(body: object = {}): Promise<unknown[]> {
      const taken: unknown[] = []
      for (let one = await take(body); one !== 204; one = await take(body)) taken.push(one)
      return taken
    },
    add: (title: string, fields: object = {}) =>
      make(ada, '/tasks', { projectId: at.projectId, title, ...fields }),
    claim: (by: Person = ada, leaseSeconds = 60, id = at.taskId) =>
      by.post(`/tasks/${id}/claim`, { leaseSeconds }),
    release: (by: Person = ada, body?: object, id = at.taskId) => by.post(`/tasks/${id}/release`, body),
    patch: (fields: object, id = at.taskId) => ada.patch(`/tasks/${id}`, fields),
    read: async (query = '', id = at.taskId) => (await ada.get(`/tasks/${id}${query}`)) as Answer,
    list: async (query: string, by: Person = ada) =>
      (await by.get(`/tasks?projectId=${at.projectId}&${query}`)).body.map(({ title }) => title),
    batch: (operations: object[], by: Person = ada) =>
      by.post(`${project()}/batch?return=full`, { operations }),
    events: (query: string) => readFeed(ada, `${project()}/events?${query}`),
    version: () => versionOf(ada, at.projectId),
    /** Claims a task for less time than the API allows. */
    claimFor: (leaseSeconds: number, id = at.taskId) =>
      service.services.run({ name: 'task.claim', input: { id, leaseSeconds }, caller: { userId: ada.id } }),
  })
}

export const titleIn = ({ status, body }: Answer) => (status === 200 ? body.title : status)
