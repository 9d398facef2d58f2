import { expect, test } from 'bun:test'
import { purgeProject } from '../../../workers/cascade.ts'
import { eventually } from '../../races/pair.ts'
import type { Person } from '../../support/client.ts'
import { openImportScene } from './scene.ts'

const scene = await openImportScene()
const { sql, newProject, service } = scene
const part = () => new Uint8Array(300_000).fill(120)

/** Sends the first half of a file, calls `change`, and then sends the second half. */
async function startAround(owner: Person, projectId: string, change: (id: string) => Promise<unknown>) {
  const changed = Promise.withResolvers<void>()
  let parts = 0
  const body = new ReadableStream({
    async pull(controller) {
      if (++parts === 2) await changed.promise
      controller.enqueue(part())
      if (parts === 2) controller.close()
    },
  })
  const headers = { authorization: `Bearer ${owner.token}` }
  const response = service.fetch(`/api/v1/projects/${projectId}/imports?source=csv`, {
    ...{ method: 'POST', headers, body },
  })
  const chunk = () => sql<{ importId: string }[]>`
    select import_id from import_chunks join imports on id = import_id where project_id = ${projectId} and state = 'receiving'`
  await eventually('a chunk', async () => (await chunk()).length === 1)
  await change((await chunk())[0]!.importId)
  changed.resolve()
  const answer = await response
  const { message } = (await answer.json()) as { message: string }
  return [answer.status, message]
}

test('names the reason when a worker has removed an import whose file was arriving', async () => {
  const { owner, projectId } = await newProject()
  const remove = (age: string) => (id: string) =>
    sql`update imports set state = 'removing', created_at = now() - ${age}::interval where id = ${id}`
  expect(await startAround(owner, projectId, remove('11 minutes'))).toEqual([
    408,
    'The file must arrive within 10 minutes',
  ])
  expect(await startAround(owner, projectId, remove('9 minutes'))).toEqual([
    503,
    'The upload was interrupted: send the file again. Nothing was written',
  ])
  const removeProject = async () => {
    await owner.delete(`/projects/${projectId}`)
    await purgeProject(sql, projectId, { batchRows: 10, pauseMs: 0 })
  }
  expect(await startAround(owner, projectId, removeProject)).toEqual([404, 'Project not found'])
})
