import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { type Body, invite, make } from '../support/client.ts'
import { applyEvent, emptyReplica, type Replica, readFeed } from './feed.ts'
import { nextPath, allPages } from './list-pages.ts'
import { cases } from '../support/depth.ts'
import { openScene } from '../support/scene.ts'

const { ada, grace } = await openScene(['Ada', 'Grace'])

const byId = (things: Iterable<object>) =>
  [...things].sort((a, b) => ((a as Body).id < (b as Body).id ? -1 : 1))

async function listed(projectId: string): Promise<Record<string, object[]>> {
  const all = async (path: string) => (await allPages(ada, path)).flat()
  const tasks = await all(`/tasks?projectId=${projectId}`)
  const of = async (list: string) =>
    (await Promise.all(tasks.map(({ id }) => all(`/tasks/${id}/${list}`)))).flat()
  return {
    project: [(await ada.get(`/projects/${projectId}`)).body],
    member: byId(await all(`/projects/${projectId}/members`)),
    task: byId(tasks),
    subtask: byId(await of('subtasks')),
    comment: byId(await of('comments')),
  }
}

const contentsOf = (model: Replica) =>
  Object.fromEntries(Object.entries(model).map(([entity, things]) => [entity, byId(things.values())]))

/** Something that a client does, by chance on which of the tasks there are. */
async function act(projectId: string, elsewhere: string, [kind, which]: [number, number]): Promise<void> {
  const tasks = (await allPages(ada, `/tasks?projectId=${projectId}`)).flat()
  const task = tasks[which % Math.max(1, tasks.length)]
  if (!task || kind === 0) return void (await make(ada, '/tasks', { title: `T${which}`, projectId }))
  if (kind === 1) await ada.patch(`/tasks/${task.id}`, { status: 'DONE', title: `U${which}` })
  if (kind === 2) await make(ada, `/tasks/${task.id}/subtasks`, { title: `S${which}` })
  if (kind === 3) await make(grace, `/tasks/${task.id}/comments`, { text: `C${which}` })
  if (kind === 4) await ada.delete(`/tasks/${task.id}`)
  if (kind === 5) await ada.patch(`/tasks/${task.id}`, { projectId: elsewhere })
  if (kind === 6) {
    const gone = (await allPages(ada, `/tasks?projectId=${elsewhere}`)).flat()[0]
    if (gone) await ada.patch(`/tasks/${gone.id}`, { projectId })
  }
  if (kind === 7) await ada.patch(`/projects/${projectId}`, { description: `D${which}` })
}

async function openProject(): Promise<string> {
  const { id } = await make(ada, '/projects', { name: 'Engine' })
  await invite(ada, id, grace, 'EDITOR')
  return id
}

const actions = (maxLength: number) => fc.array(fc.tuple(fc.nat(7), fc.nat(20)), { maxLength })

test('what the events say from the first on is what the lists say', async () => {
  const property = fc.asyncProperty(actions(25), async (done) => {
    const [projectId, elsewhere] = [await openProject(), await openProject()]
    for (const one of done) await act(projectId, elsewhere, one)
    for (const id of [projectId, elsewhere]) {
      const model = emptyReplica()
      const events = await readFeed(ada, `/projects/${id}/events?limit=7`)
      expect(events.map(({ seq }) => seq)).toEqual(events.map((_, i) => i + 1))
      for (const event of events) applyEvent(model, event)
      expect(contentsOf(model)).toEqual(await listed(id))
    }
  })
  await fc.assert(property, { numRuns: cases(3) })
})

test('who pages while others write, and then follows from the first page on, ends with what is there', async () => {
  const property = fc.asyncProperty(actions(8), actions(12), async (before, meanwhile) => {
    const [projectId, elsewhere] = [await openProject(), await openProject()]
    for (const one of before) await act(projectId, elsewhere, one)
    const model = emptyReplica()
    let version: string | null = null
    for (let next: string | undefined = `/tasks?projectId=${projectId}&limit=1`; next;) {
      const { body, headers } = await ada.get(next)
      version ??= headers.get('docket-version')
      for (const task of body) model.task.set(task.id, task as unknown as Record<string, unknown>)
      next = nextPath(headers)
      const one = meanwhile.pop()
      if (one) await act(projectId, elsewhere, one)
    }
    for (const one of meanwhile) await act(projectId, elsewhere, one)
    for (const event of await readFeed(ada, `/projects/${projectId}/events?after=${version}`))
      applyEvent(model, event)
    expect(byId(model.task.values())).toEqual((await listed(projectId)).task!)
  })
  await fc.assert(property, { numRuns: cases(3) })
})

test('every list and every single thing of one project says its version', async () => {
  const projectId = await openProject()
  const { id: taskId } = await make(ada, '/tasks', { title: 'Draw', projectId })
  const ofOne = [`/projects/${projectId}`, `/projects/${projectId}/members`, `/tasks?projectId=${projectId}`]
  const inTask = [`/tasks/${taskId}`, `/tasks/${taskId}/subtasks`, `/tasks/${taskId}/comments`]
  for (const path of [...ofOne, ...inTask]) {
    const answer = await ada.get(path)
    expect([path, answer.headers.get('docket-version')]).toEqual([path, '3'])
    const again = await ada.get(path, { 'if-none-match': answer.headers.get('etag')! })
    expect([path, again.status, again.headers.get('docket-version')]).toEqual([path, 304, '3'])
  }
  for (const path of ['/projects', '/tasks', '/auth/me'])
    expect((await ada.get(path)).headers.has('docket-version')).toBe(false)
})
