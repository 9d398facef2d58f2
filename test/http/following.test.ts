import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { type Body, invite, make } from '../support/client.ts'
import { cases } from '../support/depth.ts'
import { openScene } from '../support/scene.ts'
import { applyEvent, emptyReplica, readFeed, type Replica } from './feed.ts'
import { allPages, nextPath } from './list-pages.ts'

const { ada, grace } = await openScene(['Ada', 'Grace'])

const byId = (rows: Iterable<object>) => [...rows].sort((a, b) => ((a as Body).id < (b as Body).id ? -1 : 1))
const listAll = async (path: string) => (await allPages(ada, path)).flat()

async function readLists(projectId: string): Promise<Record<string, object[]>> {
  const tasks = await listAll(`/tasks?projectId=${projectId}`)
  const childrenOf = async (list: string) =>
    byId((await Promise.all(tasks.map(({ id }) => listAll(`/tasks/${id}/${list}`)))).flat())
  return {
    project: [(await ada.get(`/projects/${projectId}`)).body],
    member: byId(await listAll(`/projects/${projectId}/members`)),
    task: byId(tasks),
    subtask: await childrenOf('subtasks'),
    comment: await childrenOf('comments'),
  }
}

const rowsOf = (replica: Replica) =>
  Object.fromEntries(Object.entries(replica).map(([entity, rows]) => [entity, byId(rows.values())]))

async function write(projectId: string, otherId: string, [kind, n]: [number, number]): Promise<void> {
  const tasks = await listAll(`/tasks?projectId=${projectId}`)
  const task = tasks[n % Math.max(1, tasks.length)]
  if (!task || kind === 0) return void (await make(ada, '/tasks', { title: `T${n}`, projectId }))
  if (kind === 1) await ada.patch(`/tasks/${task.id}`, { status: 'DONE', title: `U${n}` })
  if (kind === 2) await make(ada, `/tasks/${task.id}/subtasks`, { title: `S${n}` })
  if (kind === 3) await make(grace, `/tasks/${task.id}/comments`, { text: `C${n}` })
  if (kind === 4) await ada.delete(`/tasks/${task.id}`)
  if (kind === 5) await ada.patch(`/tasks/${task.id}`, { projectId: otherId })
  if (kind === 6) {
    const [moved] = await listAll(`/tasks?projectId=${otherId}`)
    if (moved) await ada.patch(`/tasks/${moved.id}`, { projectId })
  }
  if (kind === 7) await ada.patch(`/projects/${projectId}`, { description: `D${n}` })
}

async function createProject(): Promise<string> {
  const { id } = await make(ada, '/projects', { name: 'Engine' })
  await invite(ada, id, grace, 'EDITOR')
  return id
}

const writes = (maxLength: number) => fc.array(fc.tuple(fc.nat(7), fc.nat(20)), { maxLength })

test('a copy from a list and the later events, and a copy from all events, both equal the current rows', async () => {
  const property = fc.asyncProperty(writes(10), writes(15), async (before, during) => {
    const [projectId, otherId] = [await createProject(), await createProject()]
    for (const one of before) await write(projectId, otherId, one)
    const fromList = emptyReplica()
    let version: string | null = null
    for (let next: string | undefined = `/tasks?projectId=${projectId}&limit=1`; next;) {
      const { body, headers } = await ada.get(next)
      version ??= headers.get('docket-version')
      for (const task of body) fromList.task.set(task.id, task as unknown as Record<string, unknown>)
      next = nextPath(headers)
      const one = during.pop()
      if (one) await write(projectId, otherId, one)
    }
    for (const one of during) await write(projectId, otherId, one)
    for (const event of await readFeed(ada, `/projects/${projectId}/events?after=${version}`))
      applyEvent(fromList, event)
    expect(byId(fromList.task.values())).toEqual((await readLists(projectId)).task!)
    for (const id of [projectId, otherId]) {
      const replica = emptyReplica()
      const events = await readFeed(ada, `/projects/${id}/events?limit=7`)
      expect(events.map(({ seq }) => seq)).toEqual(events.map((_, i) => i + 1))
      for (const event of events) applyEvent(replica, event)
      expect(rowsOf(replica)).toEqual(await readLists(id))
    }
  })
  await fc.assert(property, { numRuns: cases(4) })
})
