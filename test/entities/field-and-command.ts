// Runs in a copy of the project that has the new field and command: see new-entities.test.ts.
import { expectError } from '../http/responses.ts'
import { createPlace, created, ada, sql } from './scene.ts'

const estimatesIn = (text: string) => [...text.matchAll(/"estimate":(\w+)/g)].map(([, one]) => one)

test('a new field is validated, stored, returned, logged and documented, and a new command runs', async () => {
  const { projectId, taskId } = await createPlace()
  const { id } = await created('/tasks', { title: 'Draw', projectId, estimate: 90 })
  const path = `/tasks/${id}`
  const message = 'estimate must be a whole number of hours, or null'
  expectError(await ada.patch(path, { estimate: 'soon' }), 400, message)
  expect(estimatesIn((await ada.patch(path, { estimate: 45 })).text)).toEqual(['45'])
  expect(estimatesIn((await ada.get(`/tasks/${taskId}`)).text)).toEqual(['null'])
  expect(estimatesIn((await ada.get(`/tasks?projectId=${projectId}`)).text)).toEqual(['null', '45'])
  const finished = await ada.post(`${path}/finish`)
  expect([finished.status, finished.body.status]).toEqual([200, 'DONE'])
  expect((await ada.get(path)).text).toBe(finished.text)
  expect(estimatesIn(finished.text)).toEqual(['45'])
  const [stored] = await sql`select estimate from tasks where id = ${id}`
  expect(stored).toEqual({ estimate: 45 })
  const events = await sql<{ minutes: number }[]>`
    select after->'estimate' as minutes from events where entity_id = ${id} order by seq`
  expect(events.map(({ minutes }) => minutes)).toEqual([90, 45, 45])
  const document = (await ada.get('/../docs/json')).text
  const { post } = JSON.parse(document).paths['/api/v1/tasks']
  const { example } = post.requestBody.content['application/json']
  await created('/tasks', { ...example, projectId })
  for (const part of ['A whole number of hours', '/tasks/{id}/finish']) expect(document).toContain(part)
})
