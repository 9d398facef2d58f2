import type { TaskRow } from '../../drizzle/rows.ts'
import { cases, eventually, faultsOf, make, makeTasks, openScene, openTestService, Random } from '../kit.ts'
import { upTo, versionOf } from '../kit.ts'

const { service, ada, sql } = await openScene(['Ada'])

interface Logged {
  seq: number
  type: string
  id: string
  after: TaskRow | null
}

const logOf = (projectId: string) => sql<Logged[]>`
  select seq::float8 as seq, type, entity_id as id, after from events
  where project_id = ${projectId} and entity = 'task' order by events.seq`

const isOpen = (tasks: Map<string, TaskRow>, id: string) => tasks.has(id) && tasks.get(id)!.status !== 'DONE'
const isBlocked = (tasks: Map<string, TaskRow>, id: string) =>
  tasks.get(id)?.blockedByIds?.some((blocker) => isOpen(tasks, blocker)) === true

/** The ids of the tasks that one event after `after` made unblocked and that are ready at the end of the log. */
function expectedFrom(log: Logged[], after: number): string[] {
  const tasks = new Map<string, TaskRow>()
  const unblocked = new Set<string>()
  for (const { seq, type, id, after: row } of log) {
    if (type === 'task.ready') continue
    const blocked = [...tasks.keys()].filter((one) => isBlocked(tasks, one))
    if (row) tasks.set(id, row)
    else tasks.delete(id)
    if (seq <= after) continue
    for (const one of blocked) if (tasks.has(one) && !isBlocked(tasks, one)) unblocked.add(one)
  }
  const isReady = (id: string) => isOpen(tasks, id) && !isBlocked(tasks, id) && !tasks.get(id)!.claimedBy
  return [...unblocked].filter(isReady).sort()
}

async function openProject(seed: number) {
  const random = new Random(seed)
  const { id: projectId } = await make(ada, '/projects', { name: `Random ${seed}` })
  const { id: otherId } = await make(ada, '/projects', { name: 'Other' })
  const ids = (await makeTasks(ada, projectId, 7)).map(({ id }) => id)
  const deletions: number[] = []
  const any = () => random.pick(ids)!
  const patch = (fields: () => object) => () => ada.patch(`/tasks/${any()}`, fields())
  const steps: (() => Promise<unknown>)[] = [
    ...upTo(2).map(() => patch(() => ({ status: 'DONE' }))),
    patch(() => ({ status: 'TODO' })),
    patch(() => ({ addBlockedByIds: [any()] })),
    patch(() => ({ blockedByIds: [...new Set([any(), any()])] })),
    patch(() => ({ removeBlockedByIds: [any()] })),
    patch(() => ({ blockedByIds: null, status: random.pick(['TODO', 'DONE']) })),
    patch(() => ({ projectId: random.pick([otherId, projectId]) })),
    () => ada.post(`/tasks/${any()}/claim`, { leaseSeconds: 600 }),
    () => ada.post(`/tasks/${any()}/release`, { failed: true }),
    async () => {
      const { status } = await ada.delete(`/tasks/${any()}`)
      if (status === 200) deletions.push(await versionOf(ada, projectId))
    },
    () => ada.post(`/projects/${projectId}/undo`, { seq: deletions.pop() ?? 1 }),
    () =>
      ada.post(`/projects/${projectId}/batch`, {
        operations: [
          { op: 'task.update', id: any(), status: 'DONE' },
          { op: 'task.update', id: any(), blockedByIds: [] },
        ],
      }),
  ]
  return {
    projectId,
    async change() {
      for (const _ of upTo(20)) await random.pick(steps)!()
    },
    /** How far workers have read the log of the project, and its version. */
    async progress() {
      const [row] = await sql<{ seq: number; version: number }[]>`
        select coalesce(c.seq, 0)::float8 as seq, s.version::float8 as version
        from streams s left join ready_cursors c using (project_id) where s.project_id = ${projectId}`
      return row!
    },
  }
}

test('workers record exactly the tasks that a fold of the log finds, whatever happened while no worker ran', async () => {
  const projects = await Promise.all(upTo(cases(12)).map((n) => openProject(n)))
  for (const _ of upTo(3)) {
    await Promise.all(projects.map((project) => project.change()))
    const before = await Promise.all(projects.map((project) => project.progress()))
    const worker = await openTestService(service.env)
    worker.startWorkers()
    const isDone = async () => {
      const all = await Promise.all(projects.map((project) => project.progress()))
      return all.every(({ seq, version }) => seq === version)
    }
    await eventually('the ends of the logs', isDone)
    await worker.close()
    for (const [n, { projectId }] of projects.entries()) {
      const log = await logOf(projectId)
      const { seq, version } = before[n]!
      const recorded = log.filter((one) => one.seq > version && one.type === 'task.ready').map(({ id }) => id)
      const history = log.filter((one) => one.seq <= version)
      expect([n, recorded.toSorted()]).toEqual([n, expectedFrom(history, seq)])
    }
  }
  expect(await faultsOf(sql)).toEqual([])
})
