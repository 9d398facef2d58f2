import {
  type Answer,
  eventually,
  expectError,
  expectResponse,
  invite,
  make,
  nextPath,
  openScene,
} from '../kit.ts'

const { service, sql, ada, bea } = await openScene(['Ada', 'Bea'])
service.startWorkers()

const versionOf = ({ headers }: Answer) => Number(headers.get('docket-version'))
const open = () => make(ada, '/projects', { name: 'Engine' })

async function furnish() {
  const project = await open()
  const task = await make(ada, '/tasks', { title: 'Wheels', projectId: project.id })
  const subtask = await make(ada, `/tasks/${task.id}/subtasks`, { title: 'Oil' })
  const comment = await make(ada, `/tasks/${task.id}/comments`, { text: 'Slow' })
  return { project, task, subtask, comment }
}

test("asOf as a version refers to the task's current project, and asOf as a time to its project at that time", async () => {
  const { project: one, task, subtask, comment } = await furnish()
  const other = await open()
  await Bun.sleep(2)
  const before = encodeURIComponent(comment.createdAt)
  await invite(ada, other.id, bea)
  await ada.patch(`/tasks/${task.id}`, { projectId: other.id })
  await ada.patch(`/tasks/subtasks/${subtask.id}/toggle`)
  expectError(await ada.get(`/tasks/${task.id}?asOf=2`), 404, 'Task not found')
  expect((await ada.get(`/tasks/${task.id}?asOf=3`)).body.projectId).toBe(other.id)
  const then = await ada.get(`/tasks/${task.id}?asOf=${before}`)
  expectResponse(then, 200, task)
  expect(versionOf(then)).toBe(4)
  expectResponse(await ada.get(`/tasks/${task.id}/subtasks?asOf=${before}`), 200, [subtask])
  expectResponse(await ada.get(`/tasks?projectId=${one.id}&asOf=4`), 200, [task])
  expectResponse(await ada.get(`/tasks?projectId=${one.id}&asOf=5`), 200, [])
  expectResponse(await ada.get(`/tasks/${task.id}?asOf=4&projectId=${one.id.toUpperCase()}`), 200, task)
  for (const wrong of ['x', task.id])
    expectError(await ada.get(`/tasks/${task.id}?asOf=4&projectId=${wrong}`), 404)
  const current = await ada.get(`/tasks/${task.id}/comments?projectId=${one.id}`)
  expectError(current, 400, /^projectId needs asOf/)
  // Bea is a member of the current project, but not of the previous project.
  expect((await bea.get(`/tasks/${task.id}?asOf=3`)).status).toBe(200)
  expectError(await bea.get(`/tasks/${task.id}?asOf=${before}`), 404, 'Task not found')
})

test('the next page uses the version and the project of the first page, also after a move, and if asOf is a time', async () => {
  const { project, task, comment } = await furnish()
  const more = await make(ada, `/tasks/${task.id}/comments`, { text: 'Fast' })
  const time = encodeURIComponent('2200-01-01T00:00:00+01:00')
  const path = `/tasks/${task.id}/comments?limit=1&asOf=`
  const first = await Promise.all([5, time].map((when) => ada.get(path + when)))
  const other = await open()
  for (let n = 0; n < 6; n++) await ada.patch(`/projects/${other.id}`, { name: `P${n}` })
  await ada.patch(`/tasks/${task.id}`, { projectId: other.id })
  for (const page of first) {
    expectResponse(page, 200, [comment])
    const next = nextPath(page.headers)!
    expect(next).toContain(`asOf=5&projectId=${project.id}`)
    const second = await ada.get(next)
    expectResponse(second, 200, [more])
    expect([versionOf(page), versionOf(second)]).toEqual([5, 5])
  }
})

test('the projectId parameter gives no access to a task of another project', async () => {
  const { task } = await furnish()
  const theirs = await make(bea, '/projects', { name: 'Theirs' })
  await make(bea, '/tasks', { title: 'Theirs', projectId: theirs.id })
  for (const list of ['', '/subtasks', '/comments'])
    for (const when of ['1', '2', '2200-01-01']) {
      const path = `/tasks/${task.id}${list}?asOf=${when}&projectId=${theirs.id}`
      expectError(await bea.get(path), 404, 'Task not found')
    }
})

test('a snapshot shows a moved task, its subtasks and comments after the task and its first project are deleted', async () => {
  const { project, task } = await furnish()
  await Bun.sleep(2)
  const { body } = await ada.patch(`/tasks/${task.id}`, { projectId: (await open()).id })
  await Bun.sleep(2)
  const paths = ['', '/subtasks', '/comments'].map((list) => `/tasks/${task.id}${list}`)
  const before = await Promise.all(paths.map(async (path) => (await ada.get(path)).body))
  const checkSnapshot = async () => {
    for (const [n, path] of paths.entries())
      expectResponse(await ada.get(`${path}?asOf=${encodeURIComponent(body.updatedAt)}`), 200, before[n])
  }
  await checkSnapshot()
  await ada.delete(`/projects/${project.id}`)
  await ada.delete(`/tasks/${task.id}`)
  const left = () => sql`
    select project_id from streams where project_id = ${project.id}
    union all select task_id from subtasks where task_id = ${task.id}`
  await eventually('its rows to be purged', async () => (await left()).length === 0)
  await checkSnapshot()
})

test('a restored task is missing only in snapshots between its deletion and its restoration', async () => {
  const { project, task, subtask, comment } = await furnish()
  await ada.delete(`/tasks/${task.id}`)
  expectResponse(await ada.get(`/tasks/${task.id}/subtasks?asOf=4`), 200, [subtask])
  expectError(await bea.get(`/tasks/${task.id}?asOf=4`), 404, 'Task not found')
  expect((await ada.post(`/projects/${project.id}/undo`, { seq: 5 })).status).toBe(200)
  for (const version of [4, 8]) {
    expectResponse(await ada.get(`/tasks/${task.id}?asOf=${version}`), 200, task)
    expectResponse(await ada.get(`/tasks/${task.id}/subtasks?asOf=${version}`), 200, [subtask])
    expectResponse(await ada.get(`/tasks/${task.id}/comments?asOf=${version}`), 200, [comment])
  }
  for (const list of ['', '/subtasks', '/comments'])
    expectError(await ada.get(`/tasks/${task.id}${list}?asOf=5`), 404, 'Task not found')
  expectResponse(await ada.get(`/tasks?projectId=${project.id}&asOf=5`), 200, [])
})

test('a snapshot shows no task of another project that has the id of a deleted task', async () => {
  const { project, task } = await furnish()
  const at = encodeURIComponent(task.createdAt)
  await ada.delete(`/tasks/${task.id}`)
  const left = () => sql`select id from comments where task_id = ${task.id}`
  await eventually('its rows to be purged', async () => (await left()).length === 0)
  await Bun.sleep(2)
  const theirs = await make(bea, '/projects', { name: 'Theirs' })
  const { id } = await make(bea, '/tasks', { title: 'Theirs', projectId: theirs.id })
  await make(bea, `/tasks/${id}/comments`, { text: 'Theirs' })
  // Earlier releases accepted the id of a deleted row for a new row.
  await sql`update tasks set id = ${task.id} where id = ${id}`
  await sql`update comments set task_id = ${task.id} where task_id = ${id}`
  await sql`update events set task_id = ${task.id}, after = replace(after::text, ${id}, ${task.id})::jsonb,
    entity_id = case entity_id when ${id} then ${task.id} else entity_id end where task_id = ${id}`
  expectError(await ada.get(`/tasks/${task.id}?asOf=2`), 404, 'Task not found')
  expectResponse(await ada.get(`/tasks/${task.id}?asOf=${at}`), 200, task)
  expectError(await bea.get(`/tasks/${task.id}?asOf=${at}`), 404, 'Task not found')
  expectResponse(await ada.get(`/tasks?projectId=${project.id}&asOf=4`), 200, [task])
})
