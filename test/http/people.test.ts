import { expect, test } from 'bun:test'
import { type Answer, invite, make, type Person, register } from '../support/client.ts'
import { expectResponse, expectError } from './responses.ts'
import { openScene } from '../support/scene.ts'

const { client, sql } = await openScene()

const tagOf = ({ headers }: Answer) => headers.get('etag')!
const rename = (who: Person, name: string) => who.patch('/auth/me', { name })
const shown = ({ id, email }: Person, name: string) => ({ id, name, email })

/** A project of Ada's with Grace in it, who has said something. */
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

test('a project shows its owner, a member its user, a comment its author without the address, wherever shown', async () => {
  const { ada, grace, project, member, comment, paths } = await scene()
  expect(project.owner).toEqual(shown(ada, 'Ada') as never)
  expect(member.user).toEqual(shown(grace, 'Grace') as never)
  expect(comment.author).toEqual({ id: grace.id, name: 'Grace' } as never)
  for (const who of [ada, grace]) {
    expectResponse(await who.get(paths.project), 200, project)
    expectResponse(await who.get('/projects'), 200, [project])
    expectResponse(await who.get(paths.members), 200, [member])
    expectResponse(await who.get(paths.comments), 200, [comment])
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
  // Names are no part of the history.
  const events = await sql<{ after: object }[]>`select after from events where project_id = ${project.id}`
  expect(JSON.stringify(events)).not.toMatch(/Ada|Grace/)
})

test('after a change of name nothing shows the old one, and no ETag stands for it', async () => {
  const { ada, grace, member, project, comment, paths } = await scene()
  const reads = [ada, grace].flatMap((who) => Object.values(paths).map((path) => ({ who, path })))
  const read = () => Promise.all(reads.map(({ who, path }) => who.get(path)))
  for (const [n, name] of ['Ada King', 'Ada Byron', 'Ada'].entries()) {
    const before = await read()
    await Promise.all([rename(ada, name), rename(grace, `${name}'s friend`)])
    for (const [i, { who, path }] of reads.entries()) {
      const after = await who.get(path, { 'if-none-match': tagOf(before[i]!) })
      expect([n, path, after.status]).toEqual([n, path, 200])
      expect(after.text).toContain(name)
      const again = await who.get(path, { 'if-none-match': tagOf(after) })
      expect([n, path, again.status]).toEqual([n, path, 304])
    }
    const changed = await ada.patch(paths.project, {})
    expect(changed.body.owner.name).toBe(name)
    expect(tagOf(changed)).toBe(tagOf(await grace.get(paths.project)))
    const set = await ada.patch(`${paths.members}/${member.id}/role`, { role: 'EDITOR' })
    expect(set.body.user.name).toBe(`${name}'s friend`)
    const edited = await grace.patch(`/tasks/comments/${comment.id}`, { text: `Slow ${n}` })
    expect(edited.body.author.name).toBe(`${name}'s friend`)
  }
  const own = await ada.post('/projects', { name: 'Own' })
  expect(own.body.owner).toEqual(project.owner)
  expect(tagOf(own)).toBe(tagOf(await ada.get(`/projects/${own.body.id}`)))
})

test('another password or the same name changes nothing that others have', async () => {
  const { ada, grace, paths } = await scene()
  const known = await Promise.all(Object.values(paths).map((path) => grace.get(path)))
  await rename(ada, 'Ada')
  await ada.patch('/auth/me', { password: 'secret-2', currentPassword: 'secret-1' })
  for (const [i, path] of Object.values(paths).entries())
    expect((await grace.get(path, { 'if-none-match': tagOf(known[i]!) })).status).toBe(304)
})

test("a change of its owner's name is no change of the project: If-Match holds", async () => {
  const { ada, paths } = await scene()
  const before = tagOf(await ada.get(paths.project))
  await rename(ada, 'Countess')
  const renamed = tagOf(await ada.get(paths.project))
  expect(renamed).not.toBe(before)
  const first = await ada.patch(paths.project, { name: 'First' }, { 'if-match': before })
  expect(first.status).toBe(200)
  for (const stale of [before, renamed, '"x.1"'])
    expectError(await ada.patch(paths.project, { name: 'Second' }, { 'if-match': stale }), 412)
  expect((await ada.patch(paths.project, { name: 'Third' }, { 'if-match': tagOf(first) })).status).toBe(200)
})

test('of an account that is gone only the id is shown, from the next request on', async () => {
  const { ada, grace, project, member, comment, paths } = await scene()
  const tags = await Promise.all(Object.values(paths).map(async (path) => tagOf(await ada.get(path))))
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
    const after = await eve.get(path, { 'if-none-match': tagOf(before) })
    expect([path, after.status, [after.body].flat()[0]!.owner]).toEqual([path, 200, null as never])
  }
  expectResponse(await eve.patch(paths.project, {}), 200, { ...project, owner: null })
})
