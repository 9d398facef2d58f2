import { type Answer, type Body, make, openUndoScene } from '../kit.ts'

export type Blocked = Body & { blockedByIds: string[] }

export const blockersOf = ({ body }: Answer) => (body as Blocked).blockedByIds
export const etagOf = ({ headers }: Answer) => headers.get('etag')!

/** Before each test, creates Ada's project with a task, events 1 and 2. */
export async function openBlockerScene() {
  const scene = await openUndoScene()
  beforeEach(async () => void (await scene.setUp()))
  const { ada } = scene
  const create = async (title: string, fields: object = {}, projectId = scene.project.id) =>
    (await make(ada, '/tasks', { title, projectId, ...fields })) as Blocked
  return Object.assign(scene, {
    create,
    /** Creates tasks of which each is blocked by the next. */
    async createChain(...titles: string[]) {
      const ids: string[] = []
      for (const title of titles.toReversed())
        ids.unshift((await create(title, { blockedByIds: ids.slice(0, 1) })).id)
      return ids as [string, string, ...string[]]
    },
    patch: (id: string, fields: object) => ada.patch(`/tasks/${id}`, fields),
    shown: async (id: string, query = '') => blockersOf(await ada.get(`/tasks/${id}${query}`)),
  })
}
