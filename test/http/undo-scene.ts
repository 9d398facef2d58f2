import { expect } from 'bun:test'
import { type Answer, type Body, make, type Person, register } from '../support/client.ts'
import { forFile, openTestService } from '../support/service.ts'

export interface Undone {
  version: number
  changes: (Body & { seq: number; type: string; undoes: number; batch: number | null })[]
}

/** What an undo that was done answered. */
export const done = ({ status, body, text }: Answer): Undone => {
  expect([status, text]).toEqual([200, text])
  return body as unknown as Undone
}
/** Its changes in short: the fact and what it takes back. */
export const told = ({ changes }: Undone): string[] => changes.map(({ type, undoes }) => `${type} ${undoes}`)

/** Two people, and for each test a project of the first one's with a task in it: events 1 and 2. */
export async function openScene() {
  const service = await forFile(openTestService())
  const ada = await register(service.client, 'Ada')
  const bea = await register(service.client, 'Bea')
  const scene = {
    ...{ service, ada, bea },
    project: null as unknown as Body,
    task: null as unknown as Body,
    sql: service.services.database.reads,
    async furnish() {
      scene.project = await make(ada, '/projects', { name: 'P' })
      scene.task = await make(ada, '/tasks', { title: 'T', projectId: scene.project.id })
      return { project: scene.project, task: scene.task }
    },
    /** Adds a subtask and a comment. */
    async bothIn(taskId: string) {
      await make(ada, `/tasks/${taskId}/subtasks`, { title: 'S' })
      await make(ada, `/tasks/${taskId}/comments`, { text: 'C' })
    },
    undo: (body: object, who: Person = ada, query = '', headers = {}) =>
      who.post(`/projects/${scene.project.id}/undo${query}`, body, headers),
    version: async () =>
      Number((await ada.get(`/projects/${scene.project.id}`)).headers.get('docket-version')),
  }
  return scene
}
