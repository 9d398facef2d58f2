import { type Body, freePort, make, openPair, upTo, versionOf } from '../kit.ts'
import { scrape } from '../metrics/scrape.ts'

const port = await freePort()
const { atA: a, atB: b } = await openPair({}, { METRICS_PORT: String(port) })
const { id: projectId } = await make(a, '/projects', { name: 'Engine' })
const list = `/tasks?projectId=${projectId}`

const missesAtB = async (): Promise<number> =>
  (await scrape(port)).of('docket_cache_requests_total{cache="roles",result="miss"}')!

/** Returns when B has the event of the write, and thus nearly always the notification of A. */
async function writeAtA(write: () => Promise<unknown>): Promise<void> {
  const version = await versionOf(b, projectId)
  const news = b.get(`/projects/${projectId}/events?after=${version}&wait=25`)
  const [{ body }] = await Promise.all([news, write()])
  expect(body).not.toBeEmpty()
}

test('a right that a process has cached stays valid after a create at another process', async () => {
  await b.get(list)
  const before = await missesAtB()
  for (const n of upTo(20)) {
    await writeAtA(() => make(a, '/tasks', { projectId, title: `T${n}` }))
    expect((await b.get(list)).body).toHaveLength(n)
  }
  expect((await missesAtB()) - before).toBeLessThan(20)
})

test('after each kind of write at another process, a process shows the new state', async () => {
  const [task, other] = await Promise.all(
    ['Task', 'Other'].map((title) => make(a, '/tasks', { projectId, title })),
  )
  const label = await make(a, `/projects/${projectId}/labels`, { name: 'red' })
  const paths = [task!, other!].flatMap(({ id }) => [
    `/tasks/${id}`,
    `/tasks/${id}/subtasks`,
    `/tasks/${id}/comments`,
  ])
  const at = `/tasks/${task!.id}`
  const shownBy = (reader: typeof a): Promise<Body[]> =>
    Promise.all([list, ...paths].map(async (path) => (await reader.get(path)).body))
  const writes: [what: string, write: () => Promise<unknown>][] = [
    ['a change', () => a.patch(at, { title: 'New' })],
    ['a label', () => a.patch(at, { labelIds: [label.id] })],
    ['a subtask', () => make(a, `${at}/subtasks`, { title: 'Part' })],
    ['a comment', () => make(a, `${at}/comments`, { text: 'Text' })],
    ['a blocker', () => a.patch(at, { blockedByIds: [other!.id] })],
    ['the end of a blocker', () => a.patch(`/tasks/${other!.id}`, { status: 'DONE' })],
    ['the deletion of a label', () => a.delete(`/labels/${label.id}`)],
    ['a claim', () => a.post(`${at}/claim`, { leaseSeconds: 60 })],
    [
      'a batch',
      () =>
        a.post(`/projects/${projectId}/batch`, {
          operations: [{ op: 'task.update', id: task!.id, priority: 'HIGH' }],
        }),
    ],
    ['a deletion', () => a.delete(`/tasks/${other!.id}`)],
  ]
  await shownBy(b)
  for (const [what, write] of writes) {
    const before = await shownBy(a)
    await writeAtA(write)
    const after = await shownBy(a)
    expect([what, after]).not.toEqual([what, before])
    expect([what, await shownBy(b)]).toEqual([what, after])
  }
})
