import { invite, make, openScene, register, statuses } from '../kit.ts'
import type { Answer, Person } from '../kit.ts'

const { client, sql } = await openScene()
const etagOf = ({ headers }: Answer) => headers.get('etag')!
const rename = (by: Person, name: string) => by.patch('/auth/me', { name })

test('every response shows a new name and has a new ETag; nothing else changes an ETag, and no event contains a name', async () => {
  const [ada, grace] = await Promise.all([register(client, 'Ada'), register(client, 'Grace')])
  const project = await make(ada, '/projects', { name: 'Engine' })
  const member = await invite(ada, project.id, grace, 'EDITOR')
  const { id: taskId } = await make(ada, '/tasks', { title: 'Wheels', projectId: project.id })
  const comment = await make(grace, `/tasks/${taskId}/comments`, { text: 'Slow' })
  const inProject = `/projects/${project.id}`
  const paths = [
    inProject,
    '/projects',
    `${inProject}/members`,
    `${inProject}/history`,
    `/tasks/${taskId}/comments`,
  ]
  const read = (tags: string[] = []) =>
    Promise.all(paths.map((path, n) => grace.get(path, { 'if-none-match': tags[n] ?? '' })))
  let tags = (await read()).map(etagOf)
  const expectUnchanged = async () => expect(statuses(await read(tags))).toEqual({ 304: tags.length })
  for (const name of ['Ada King', 'Ada']) {
    await Promise.all([rename(ada, name), rename(grace, `${name}'s friend`)])
    const answers = await read(tags)
    for (const { status, text } of answers)
      expect([status, text]).toEqual([200, expect.stringContaining(name)])
    tags = answers.map(etagOf)
    const changed = await ada.patch(inProject, {})
    expect([changed.body.owner.name, etagOf(changed)]).toEqual([name, tags[0]!])
    const set = await ada.patch(`${inProject}/members/${member.id}/role`, { role: 'EDITOR' })
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
