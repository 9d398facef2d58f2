import { expectError, expectResponse, invite, make, openScene, register } from '../kit.ts'
import type { Answer, Person } from '../kit.ts'

const { client, sql } = await openScene()

const etagOf = ({ headers }: Answer) => headers.get('etag')!
const rename = (client: Person, name: string) => client.patch('/auth/me', { name })
const shown = ({ id, email }: Person, name: string) => ({ id, name, email })

async function scene() {
  const [ada, grace] = await Promise.all([register(client, 'Ada'), register(client, 'Grace')])
  const project = await make(ada, '/projects', { name: 'Engine' })
  const member = await invite(ada, project.id, grace, 'EDITOR')
  const { id: taskId } = await make(ada, '/tasks', { title: 'Wheels', projectId: project.id })
  const comment = await make(grace, `/tasks/${taskId}/comments`, { text: 'Slow' })
  const paths = {
    project: `/projects/${project.id}`,
    projects: '/projects',
    members: `/projects/${project.id}/members`,
    comments: `/tasks/${taskId}/comments`,
  }
  return { ada, grace, project, member, comment, taskId, paths }
}

test('every response shows the owner of a project, the user of a member and, without e-mail, the author of a comment', async () => {
  const { ada, grace, project, member, comment, paths } = await scene()
  expect(project.owner).toEqual(shown(ada, 'Ada') as never)
  expect(member.user).toEqual(shown(grace, 'Grace') as never)
  expect(comment.author).toEqual({ id: grace.id, name: 'Grace' } as never)
  for (const person of [ada, grace]) {
    expectResponse(await person.get(paths.project), 200, project)
    expectResponse(await person.get('/projects'), 200, [project])
    expectResponse(await person.get(paths.members), 200, [member])
    expectResponse(await person.get(paths.comments), 200, [comment])
  }
  const change = { description: 'Wheels within wheels' }
  for (const body of [change, {}])
    expectResponse(await ada.patch(paths.project, body), 200, { ...project, ...change })
  const path = `${paths.members}/${member.id}/role`
  for (const role of ['ADMIN', 'ADMIN', 'VIEWER'])
    expectResponse(await ada.patch(path, { role }), 200, { ...member, role })
  const { body } = await grace.patch(`/tasks/comments/${comment.id}`, { text: 'Fast' })
  expectResponse(await ada.get(paths.comments), 200, [body])
  expect(body).toEqual({ ...comment, text: 'Fast', updatedAt: body.updatedAt } as never)
  const events = await sql<{ after: object }[]>`select after from events where project_id = ${project.id}`
  expect(JSON.stringify(events)).not.toMatch(/Ada|Grace/)
})

test('after a user changes name, every response shows the new name and has a new ETag', async () => {
  const { ada, grace, member, project, comment, paths } = await scene()
  const reads = [ada, grace].flatMap((person) => Object.values(paths).map((path) => ({ person, path })))
  const read = () => Promise.all(reads.map(({ person, path }) => person.get(path)))
  for (const [n, name] of ['Ada King', 'Ada Byron', 'Ada'].entries()) {
    const before = await read()
    await Promise.all([rename(ada, name), rename(grace, `${name}'s friend`)])
    for (const [i, { person, path }] of reads.entries()) {
      const after = await person.get(path, { 'if-none-match': etagOf(before[i]!) })
      expect([n, path, after.status]).toEqual([n, path, 200])
      expect(after.text).toContain(name)
      const again = await person.get(path, { 'if-none-match': etagOf(after) })
      expect([n, path, again.status]).toEqual([n, path, 304])
    }
    const changed = await ada.patch(paths.project, {})
    expect(changed.body.owner.name).toBe(name)
    expect(etagOf(changed)).toBe(etagOf(await grace.get(paths.project)))
    const set = await ada.patch(`${paths.members}/${member.id}/role`, { role: 'EDITOR' })
    expect(set.body.user.name).toBe(`${name}'s friend`)
    const edited = await grace.patch(`/tasks/comments/${comment.id}`, { text: `Slow ${n}` })
    expect(edited.body.author.name).toBe(`${name}'s friend`)
  }
  const own = await ada.post('/projects', { name: 'Own' })
  expect(own.body.owner).toEqual(project.owner)
  expect(etagOf(own)).toBe(etagOf(await ada.get(`/projects/${own.body.id}`)))
})

test('a new name changes the ETags of the history and of lists with names', async () => {
  const { ada, grace, paths } = await scene()
  for (const path of [paths.comments, paths.members, `${paths.project}/history`]) {
    const before = await ada.get(path)
    await rename(grace, `Grace of ${path}`)
    expect((await ada.get(path, { 'if-none-match': etagOf(before) })).text).toContain(`Grace of ${path}`)
  }
})

test('a new password or the same name leaves every ETag valid', async () => {
  const { ada, grace, paths } = await scene()
  const before = await Promise.all(Object.values(paths).map((path) => grace.get(path)))
  await rename(ada, 'Ada')
  await ada.patch('/auth/me', { password: 'secret-2', currentPassword: 'secret-1' })
  for (const [i, path] of Object.values(paths).entries())
    expect((await grace.get(path, { 'if-none-match': etagOf(before[i]!) })).status).toBe(304)
})

test("If-Match still succeeds after the owner's name changes, because the project has not changed", async () => {
  const { ada, paths } = await scene()
  const before = etagOf(await ada.get(paths.project))
  await rename(ada, 'Countess')
  const renamed = etagOf(await ada.get(paths.project))
  expect(renamed).not.toBe(before)
  const first = await ada.patch(paths.project, { name: 'First' }, { 'if-match': before })
  expect(first.status).toBe(200)
  for (const stale of [before, renamed, '"x.1"'])
    expectError(await ada.patch(paths.project, { name: 'Second' }, { 'if-match': stale }), 412)
  expect((await ada.patch(paths.project, { name: 'Third' }, { 'if-match': etagOf(first) })).status).toBe(200)
})

test('after an account is deleted, responses show only its id', async () => {
  const { ada, grace, project, member, comment, paths } = await scene()
  const tags = await Promise.all(Object.values(paths).map(async (path) => etagOf(await ada.get(path))))
  await grace.delete('/auth/me')
  const [, , members, comments] = await Promise.all(
    Object.values(paths).map((path, i) => ada.get(path, { 'if-none-match': tags[i]! })),
  )
  expectResponse(members!, 200, [{ ...member, user: null }])
  expectResponse(comments!, 200, [{ ...comment, author: null, authorRemoved: true }])
  const eve = await register(client)
  await invite(ada, project.id, eve, 'ADMIN')
  const [own, list] = [await eve.get(paths.project), await eve.get('/projects')]
  await ada.delete('/auth/me')
  for (const [path, before] of Object.entries({ [paths.project]: own, '/projects': list })) {
    const after = await eve.get(path, { 'if-none-match': etagOf(before) })
    expect([path, after.status, [after.body].flat()[0]!.owner]).toEqual([path, 200, null as never])
  }
  expectResponse(await eve.patch(paths.project, {}), 200, { ...project, owner: null })
})
