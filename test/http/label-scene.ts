import { type Answer, type Body, make, openUndoScene } from '../kit.ts'

export type LabelledTask = Body & { labelIds: string[]; color: string | null }

export const labelsOf = ({ body }: Answer): string[] => (body as LabelledTask).labelIds
export const listedLabels = ({ body }: Answer): string[][] =>
  (body as unknown as LabelledTask[]).map(({ labelIds }) => labelIds)

/** Before each test, creates Ada's project with a task, events 1 and 2. */
export async function openLabelScene() {
  const scene = await openUndoScene()
  beforeEach(async () => void (await scene.setUp()))
  const { ada } = scene
  const labelsIn = (projectId = scene.project.id) => `/projects/${projectId}/labels`
  const create = async (name: string, projectId?: string) =>
    (await make(ada, labelsIn(projectId), { name })).id
  return Object.assign(scene, {
    labelsIn,
    create,
    async createAll(...names: string[]) {
      const ids: string[] = []
      for (const name of names) ids.push(await create(name))
      return ids as [string, string, ...string[]]
    },
    patch: (fields: object, id = scene.task.id) => ada.patch(`/tasks/${id}`, fields),
    shown: async (query = '') => labelsOf(await ada.get(`/tasks/${scene.task.id}${query}`)),
    namesIn: async (projectId: string, query = '') =>
      (await ada.get(labelsIn(projectId) + query)).body.map(({ name }) => name),
  })
}
