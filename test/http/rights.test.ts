import { allPages, invite, make, openTeam, unknownId, withToken } from '../kit.ts'
import { testScenarios } from './scenarios.ts'

const { sql, people, owner, guest } = await openTeam(['Guest'])
await testScenarios('rights', { ...people, guest }, sql)

test('lists contain only the projects that the token may read, page by page, and have a different ETag', async () => {
  const own = await make(owner, '/projects', { name: 'Own' })
  await make(owner, '/projects', { name: 'Other' })
  await make(owner, '/tasks', { title: 'Here', projectId: own.id })
  const shared = await make(guest, '/projects', { name: 'Shared' })
  await invite(guest, shared.id, owner, 'EDITOR')
  await make(guest, '/tasks', { title: 'There', projectId: shared.id })
  const some = await withToken(owner, { projects: [own.id, shared.id, unknownId] })
  const projects = [own.id, shared.id].sort()
  const list = await some.get('/projects')
  expect(list.body.map(({ id }) => id).sort()).toEqual(projects)
  expect((await allPages(some, '/projects?limit=1')).flatMap(([one]) => one!.id).sort()).toEqual(projects)
  const condition = { 'if-none-match': list.headers.get('etag')! }
  expect((await some.get('/projects', condition)).status).toBe(304)
  await owner.patch(`/projects/${own.id}`, { name: 'Engine 1' })
  expect((await some.get('/projects', condition)).status).toBe(200)
  for (const query of ['', '?sort=dueDate', '?sort=-createdAt&limit=200', '?status=TODO']) {
    const tasks = (await allPages(some, `/tasks${query}`)).flat()
    expect([...new Set(tasks.map(({ projectId }) => projectId))].sort()).toEqual(projects)
  }
})
