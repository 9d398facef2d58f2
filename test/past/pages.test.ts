import { allPages, type Answer, type Body, make, nextPath, openScene, Random, upTo } from '../kit.ts'
import { startRandomWrites, writeRandomly } from './random-writes.ts'

const { ada, bea, cy } = await openScene(['Ada', 'Bea', 'Cy'])
const world = await startRandomWrites(new Random(8), [ada, bea, cy])
for (let n = 0; n < 15; n++) await writeRandomly(world, 25)
const sizeOf = async ({ id }: Body) => (await ada.get(`/tasks?projectId=${id}&limit=200`)).body.length
const sizes = await Promise.all(world.projects.map(sizeOf))
const { id: projectId } = world.projects[sizes.indexOf(Math.max(...sizes))]!

async function amongWrites<T>(work: () => Promise<T>): Promise<T> {
  let isOver = false
  const writing = (async () => {
    while (!isOver) await writeRandomly(world, 10)
  })()
  try {
    return await work()
  } finally {
    isOver = true
    await writing
  }
}

test('the pages of a list in a snapshot together show the whole list, even while other clients write', async () => {
  const { body: tasks } = await ada.get(`/tasks?projectId=${projectId}&limit=200`)
  const busy = tasks.slice(0, 5).flatMap(({ id }) => [`/tasks/${id}/subtasks?`, `/tasks/${id}/comments?`])
  const lists = [
    `/projects/${projectId}/members?`,
    `/projects/${projectId}/labels?`,
    ...busy,
    ...['createdAt', '-createdAt', 'dueDate', '-dueDate', 'position'].flatMap((sort) =>
      ['', '&status=DONE', '&priority=LOW&assigneeId=me', '&dueBefore=2030-01-04'].map(
        (filter) => `/tasks?projectId=${projectId}&sort=${sort}${filter}`,
      ),
    ),
  ]
  const { headers } = await ada.get(`/projects/${projectId}`)
  const version = headers.get('docket-version')
  const wholes = await Promise.all(lists.map(async (path) => (await ada.get(`${path}&limit=200`)).body))
  expect(wholes.filter(({ length }) => length > 3).length).toBeGreaterThan(5)
  const now = await amongWrites(async () => {
    for (const [n, path] of lists.entries()) {
      const where = path.includes(projectId) ? '' : `&projectId=${projectId}`
      const pages = await allPages(ada, `${path}&limit=3&asOf=${version}${where}`)
      expect([path, pages.flat()]).toEqual([path, [...wholes[n]!]])
    }
    return (await ada.get(`/tasks?projectId=${projectId}`)).headers.get('docket-version')
  })
  expect(Number(now)).toBeGreaterThan(Number(version))
})

test('if asOf is a time, the next page uses the version of the first page', async () => {
  const path = `/tasks?projectId=${projectId}&limit=3&asOf=${encodeURIComponent('2200-01-01T00:00:00+01:00')}`
  const first = await ada.get(path)
  const version = first.headers.get('docket-version')
  const next = nextPath(first.headers)!
  expect(new URLSearchParams(next.slice(next.indexOf('?'))).get('asOf')).toBe(version)
  await writeRandomly(world, 30)
  const second = await ada.get(next)
  expect(second.headers.get('docket-version')).toBe(version)
  const whole = await ada.get(`/tasks?projectId=${projectId}&limit=6&asOf=${version}`)
  expect([...first.body, ...second.body]).toEqual([...whole.body])
})

test('a page that is sorted by creation and filtered by due date ends at the same task now and in a snapshot', async () => {
  const { id } = await make(ada, '/projects', { name: 'Many' })
  // A page scans 2,000 tasks; the last of these tasks has a matching due date.
  const due = (n: number) => ((n + 1) % 500 < 3 ? { dueDate: '2030-01-01' } : {})
  for (let n = 0; n < 2_500; n += 500) {
    const operations = upTo(500).map((i) => ({ op: 'task.create', title: `T${i}`, ...due(n + i - 1) }))
    expect((await ada.post(`/projects/${id}/batch`, { operations })).status).toBe(200)
  }
  const path = `/tasks?projectId=${id}&sort=createdAt&dueBefore=2030-01-02&limit=50`
  const before = await ada.get(path)
  expect([before.body.length, nextPath(before.headers) !== undefined]).toEqual([12, true])
  const version = before.headers.get('docket-version')
  for (const { id } of before.body.slice(0, 5)) await ada.delete(`/tasks/${id}`)
  for (const { id } of before.body.slice(5, 8)) await ada.patch(`/tasks/${id}`, { dueDate: null })
  const then = await ada.get(`${path}&asOf=${version}`)
  expect(then.text).toBe(before.text)
  const cursorOf = ({ headers }: Answer) => /cursor=([\w-]+)/.exec(nextPath(headers)!)![1]
  expect(cursorOf(then)).toBe(cursorOf(before)!)
  expect((await allPages(ada, `${path}&asOf=${version}`)).flat()).toHaveLength(15)
})
