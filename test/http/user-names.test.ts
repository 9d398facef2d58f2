import { expectResponse, invite, make, openScene, register, statuses } from '../kit.ts'
import type { Answer, Person } from '../kit.ts'
import { testScenarios } from './scenarios.ts'

const { client, sql, dora } = await openScene(['Dora'])
await testScenarios('user-names', { dora }, sql)

const etagOf = ({ headers }: Answer) => headers.get('etag')!
const rename = (by: Person, name: string) => by.patch('/auth/me', { name })

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

test('every response shows a new name and has a new ETag; nothing else changes an ETag, and no event contains a name', async () => {
  const { ada, grace, project, member, comment, paths } = await scene()
  const read = (tags: string[] = []) =>
    Promise.all(Object.values(paths).map((path, n) => grace.get(path, { 'if-none-match': tags[n] ?? '' })))
  let tags = (await read()).map(etagOf)
  const expectUnchanged = async () => expect(statuses(await read(tags))).toEqual({ 304: tags.length })
  for (const name of ['Ada King', 'Ada']) {
    await Promise.all([rename(ada, name), rename(grace, `${name}'s friend`)])
    const answers = await read(tags)
    for (const { status, text } of answers)
      expect([status, text]).toEqual([200, expect.stringContaining(name)])
    tags = answers.map(etagOf)
    const changed = await ada.patch(paths.project, {})
    expect([changed.body.owner.name, etagOf(changed)]).toEqual([name, tags[0]!])
    const set = await ada.patch(`${paths.members}/${member.id}/role`, { role: 'EDITOR' })
    const edited = await grace.patch(`/tasks/comments/${comment.id}`, { text: 'Slow' })
    expect([set.body.user.name, edited.body.author.name]).toEqual(Array(2).fill(`${name}'s friend`))
    await rename(ada, name)
    await expectUnchanged()
  }
  await ada.patch('/auth/me', { password: 'secret-2', currentPassword: 'secret-1' })
  await expectUnchanged()
  const events = await sql`select before, after from events where project_id = ${project.id}`
  expect(JSON.stringify(events)).not.toMatch(/Ada|Grace/)
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
