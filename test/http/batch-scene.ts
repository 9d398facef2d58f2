import { expect } from 'bun:test'
import { type Answer, type Body, make, type Person, register } from '../support/client.ts'
import { forFile, openTestService } from '../support/service.ts'

interface Done {
  version: number
  results: (Body & { etag: string | null })[]
}

/** What a batch that was done answered. */
export const doneIn = ({ status, body, text }: Answer): Done => {
  expect([status, text]).toEqual([200, text])
  return body as unknown as Done
}

export const create = (title: string, others: object = {}) => ({ op: 'task.create', title, ...others })

/** Two people, and for each test a project of the first one's with a task in it. */
export async function openScene() {
  const service = await forFile(openTestService())
  const ada = await register(service.client, 'Ada')
  const bea = await register(service.client, 'Bea')
  const { reads } = service.services.database
  return {
    ...{ service, ada, bea, reads },
    async furnish() {
      const project = await make(ada, '/projects', { name: 'P' })
      const task = await make(ada, '/tasks', { title: 'T', projectId: project.id })
      return { project, task }
    },
    send: (
      projectId: string,
      operations: object[],
      others: object = {},
      query = '',
      headers = {},
      who: Person = ada,
    ) => who.post(`/projects/${projectId}/batch${query}`, { ...others, operations }, headers),
    facts: (projectId: string) => reads<{ seq: number; type: string; batch: number | null }[]>`
      select seq::float8 as seq, type, batch::float8 as batch from events where project_id = ${projectId} order by seq`,
  }
}
