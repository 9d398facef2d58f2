import { type Answer, type Body, make, type Person, versionOf } from '../support/client.ts'
import { openScene as openService } from '../support/scene.ts'

export interface UndoResponse {
  version: number
  changes: (Body & { seq: number; type: string; undoes: number; batch: number | null })[]
}

export const expectUndone = ({ status, body, text }: Answer): UndoResponse => {
  expect([status, text]).toEqual([200, text])
  return body as unknown as UndoResponse
}
export const changesOf = ({ changes }: UndoResponse): string[] =>
  changes.map(({ type, undoes }) => `${type} ${undoes}`)

/** Opens a service with the user Ada; `setUp` creates her project with a task, events 1 and 2, for each test. */
export async function openUndoScene() {
  const { ada, ...others } = await openService(['Ada'])
  const scene = {
    ...{ ...others, ada },
    project: null as unknown as Body,
    task: null as unknown as Body,
    async setUp() {
      scene.project = await make(ada, '/projects', { name: 'P' })
      scene.task = await make(ada, '/tasks', { title: 'T', projectId: scene.project.id })
    },
    async addChildren(taskId: string) {
      await make(ada, `/tasks/${taskId}/subtasks`, { title: 'S' })
      await make(ada, `/tasks/${taskId}/comments`, { text: 'C' })
    },
    undo: (body: object, client: Person = ada, query = '') =>
      client.post(`/projects/${scene.project.id}/undo${query}`, body),
    batch: (operations: object[], query = '') =>
      ada.post(`/projects/${scene.project.id}/batch${query}`, { operations }),
    version: () => versionOf(ada, scene.project.id),
  }
  return scene
}
