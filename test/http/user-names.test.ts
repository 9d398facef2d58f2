import { expectError, expectResponse, invite, make, openScene, register } from '../kit.ts'
import type { Answer, Person } from '../kit.ts'

const { client, sql } = await openScene()

const etagOf = ({ headers }: Answer) => headers.get('etag')!
const rename = (by: Person, name: string) => by.patch('/auth/me', { name })
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
    history: `/projects/${project.id}/history`,
  }
  return { ada, grace, project, member, comment, paths }
}

test('every response shows the owner of a project, the user of a member and, without e-mail, the author of a comment', async () => {
  const { ada, grace, project, member, comment, paths } = await scene()
  expect(project.owner).toEqual(shown(ada, 'Ada') as never)
  expect(member.user).toEqual(shown(grace, 'Grace') as never)
  expect(comment.author).toEqual({ id: grace.id, name: 'Grace' } as never)
  for (const person of [ada, grace]) {
    expectResponse(await person.get(paths.project), 200, project)
    for (const [path, row] of [
      ['/projects', project],
      [paths.members, member],
      [paths.comments, comment],
    ] as const)
      expectResponse(await person.get(path), 200, [row])
  }
  const change = { description: 'Wheels within wheels' }
  for (const body of [change, {}])
    expectResponse(await ada.patch(paths.project, body), 200, { ...project, ...change })
  for (const role of ['ADMIN', 'ADMIN', 'VIEWER'])
    expectResponse(await ada.patch(`${paths.members}/${member.id}/role`, { role }), 200, { ...member, role })
  const { body } = await grace.patch(`/tasks/comments/${comment.id}`, { text: 'Fast' })
  expect(body).toEqual({ ...comment, text: 'Fast', updatedAt: body.updatedAt } as never)
  const events = await sql<{ after: object }[]>`select after from events where project_id = ${project.id}`
  expect(JSON.stringify(events)).not.toMatch(/Ada|Grace/)
})

test('after a user changes name, every response shows the new name and has a new ETag; nothing else changes an ETag', async () => {
  const { ada, grace, member, comment, paths } = await scene()
  const reads = [ada, grace].flatMap((person) => Object.values(paths).map((path) => ({ person, path })))
  const expectUnchanged = async (tags: string[]) => {
    for (const [i, { person, path }] of reads.entries())
      expect([path, (await person.get(path, { 'if-none-match': tags[i]! })).status]).toEqual([path, 304])
  }
  let tags = await Promise.all(reads.map(async ({ person, path }) => etagOf(await person.get(path))))
  for (const name of ['Ada King', 'Ada']) {
    await Promise.all([rename(ada, name), rename(grace, `${name}'s friend`)])
    const answers = await Promise.all(
      reads.map(({ person, path }, i) => person.get(path, { 'if-none-match': tags[i]! })),
    )
    for (const { status, text } of answers)
      expect([status, text]).toEqual([200, expect.stringContaining(name)])
    tags = answers.map(etagOf)
    await expectUnchanged(tags)
    const changed = await ada.patch(paths.project, {})
    expect(changed.body.owner.name).toBe(name)
    expect(etagOf(changed)).toBe(etagOf(await grace.get(paths.project)))
    const set = await ada.patch(`${paths.members}/${member.id}/role`, { role: 'EDITOR' })
    expect(set.body.user.name).toBe(`${name}'s friend`)
    const edited = await grace.patch(`/tasks/comments/${comment.id}`, { text: 'Slow' })
    expect(edited.body.author.name).toBe(`${name}'s friend`)
  }
  await rename(ada, 'Ada')
  await expectUnchanged(tags)
  await ada.patch('/auth/me', { password: 'secret-2', currentPassword: 'secret-1' })
  for (const [i, path] of Object.values(paths).entries())
    expect((await grace.get(path, { 'if-none-match': tags[i + 5]! })).status).toBe(304)
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
  const tagsOf = (by: Person) =>
    Promise.all(Object.values(paths).map(async (path) => etagOf(await by.get(path))))
  const tags = await tagsOf(ada)
  await grace.delete('/auth/me')
  const [, , members, comments] = await Promise.all(
    Object.values(paths).map((path, i) => ada.get(path, { 'if-none-match': tags[i]! })),
  )
  expectResponse(members!, 200, [{ ...member, user: null }])
  expectResponse(comments!, 200, [{ ...comment, author: null, authorRemoved: true }])
  const eve = await register(client)
  await invite(ada, project.id, eve, 'ADMIN')
  const [own, list] = await tagsOf(eve)
  await ada.delete('/auth/me')
  for (const [path, before] of Object.entries({ [paths.project]: own!, '/projects': list! })) {
    const after = await eve.get(path, { 'if-none-match': before })
    expect([path, after.status, [after.body].flat()[0]!.owner]).toEqual([path, 200, null as never])
  }
  expectResponse(await eve.patch(paths.project, {}), 200, { ...project, owner: null })
})
