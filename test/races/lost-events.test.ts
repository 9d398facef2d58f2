import { type Body, faultsOf, forFile, make, openTestService, register } from '../kit.ts'

const service = await forFile(openTestService())
// Separate leases, because after a failover two processes may write the same project.
const REDIS_PREFIX = `${service.env.REDIS_PREFIX}-other`
const other = await forFile(openTestService({ ...service.env, REDIS_PREFIX, LOG_LEVEL: 'silent' }))
const ada = await register(service.client)
const adaAtOther = { ...ada, ...other.client.as(ada.token) }
const sql = service.services.database.background

/** Creates a project with a task, and loads the task into the actor's state by an update that changes nothing. */
async function openKnown() {
  const project = await make(ada, '/projects', { name: 'Old' })
  const task = await make(ada, '/tasks', { title: 'Lost', projectId: project.id })
  expect((await ada.patch(`/tasks/${task.id}`, { title: 'Lost' })).status).toBe(200)
  return { project, task }
}

/** Removes the project's second event as a failover may, and lets another process commit another second event. */
async function reuseVersion({ id }: Body): Promise<void> {
  await sql.begin(async (tx) => {
    await tx`delete from tasks where project_id = ${id}`
    await tx`delete from events where project_id = ${id} and seq = 2`
    await tx`update streams set version = 1, last_number = 0,
      last_event_id = (select id from events where project_id = ${id}) where project_id = ${id}`
  })
  expect((await adaAtOther.patch(`/projects/${id}`, { name: 'Renamed' })).status).toBe(200)
}

test.each<
  [string, lost: 'here' | 'there', send: (task: Body, here: Body, there: Body) => unknown[], unknown[]]
>([
  ['an update', 'here', ({ id }) => ['PATCH', `/tasks/${id}`, { title: 'Changed' }], [404, undefined]],
  ['a create', 'here', (_, { id }) => ['POST', '/tasks', { title: 'Next', projectId: id }], [201, 1]],
  [
    'a move out',
    'here',
    ({ id }, _, to) => ['PATCH', `/tasks/${id}`, { projectId: to.id }],
    [404, undefined],
  ],
  ['a move in', 'there', ({ id }, _, to) => ['PATCH', `/tasks/${id}`, { projectId: to.id }], [200, 1]],
])(
  '%s retries after the last event that the process knew was lost in a failover',
  async (_, lost, send, wanted) => {
    const [here, there] = [await openKnown(), await openKnown()]
    await reuseVersion(lost === 'here' ? here.project : there.project)
    const [method, path, content] = send(here.task, here.project, there.project)
    const { status, body } = await ada.call(String(method), String(path), content)
    expect<unknown[]>([status, body.number]).toEqual(wanted)
    expect(await faultsOf(sql)).toEqual([])
  },
)
