import { eventually, expectError, invite, make, openProject, openTeam, register } from '../kit.ts'
import { upTo, versionOf } from '../kit.ts'
import type { Answer, Person } from '../kit.ts'
import { type Account, accountsPath, openServiceAccount } from './account-scene.ts'

const { service, client, sql, people } = await openTeam([], { PROJECT_MEMBERS: '6' })

service.startWorkers()

const untilAccountsDeleted = (id: string) =>
  eventually(
    'the removal of the accounts',
    async () => (await sql`select from users where project_id = ${id}`).length === 0,
  )

const endings: [how: string, isProjectKept: boolean, end: (of: Account, owner: Person) => Promise<Answer>][] =
  [
    ['its deletion', true, ({ projectId, id }) => people.admin.delete(`${accountsPath(projectId)}/${id}`)],
    [
      'the end of its membership',
      true,
      ({ projectId, memberId }) => people.admin.delete(`/projects/${projectId}/members/${memberId}`),
    ],
    ['the deletion of its project', false, ({ projectId }, owner) => owner.delete(`/projects/${projectId}`)],
    ["the deletion of the project owner's account", false, (_, owner) => owner.delete('/auth/me')],
  ]

test.each(endings)(
  '%s ends a service account and its tokens; its tasks and comments stay',
  async (...row) => {
    const [, isProjectKept, end] = row
    const owner = await register(client)
    const { projectId, account, program } = await openServiceAccount({ ...people, owner })
    await make(people.admin, accountsPath(projectId), { name: 'Other' })
    const task = await make(program, '/tasks', { title: 'Wheels', projectId, assigneeId: account.id })
    await make(program, `/tasks/${task.id}/comments`, { text: 'Oiled' })
    expect((await end(account, owner)).status).toBe(200)
    await eventually(
      'the rejection of its tokens',
      async () => (await program.get('/auth/me')).status === 401,
    )
    if (!isProjectKept) return untilAccountsDeleted(projectId)
    expect((await people.viewer.get(accountsPath(projectId))).body).toMatchObject([
      { name: 'Other' },
    ] as never)
    await eventually('the end of the assignment', async () => {
      return (await people.viewer.get(`/tasks/${task.id}`)).body.assigneeId === null
    })
    const [comment] = (await people.viewer.get(`/tasks/${task.id}/comments`)).body
    expect(comment).toMatchObject({ author: { id: account.id }, authorId: account.id } as never)
  },
)

test('a full project rejects a new account, and the undo of a removal', async () => {
  const projectId = await openProject(people)
  await make(people.admin, accountsPath(projectId), { name: 'Importer' })
  const add = () => people.admin.post(accountsPath(projectId), { name: 'More' })
  const full = (await Promise.all(upTo(6).map(add))).filter(({ status }) => status !== 201)
  expect(full).toHaveLength(4)
  for (const one of full) expectError(one, 409, 'A project has at most 6 members')
  const [member] = (await people.admin.get(`/projects/${projectId}/members`)).body
  await people.owner.delete(`/projects/${projectId}/members/${member!.id}`)
  const seq = await versionOf(people.owner, projectId)
  const last = await invite(people.owner, projectId, await register(client))
  const undo = () => people.owner.post(`/projects/${projectId}/undo`, { seq })
  expectError(await undo(), 409, 'A project has at most 6 members')
  await people.owner.delete(`/projects/${projectId}/members/${last.id}`)
  expect((await undo()).status).toBe(200)
  expect(await sql`select from users where project_id = ${projectId}`).toHaveLength(3)
})

test('a service account that is created during the deletion of its project is deleted too', async () => {
  for (const _ of upTo(10)) {
    const projectId = await openProject(people)
    const [deleted, ...created] = await Promise.all([
      people.owner.delete(`/projects/${projectId}`),
      ...upTo(4).map((n) => people.admin.post(accountsPath(projectId), { name: `${n}` })),
    ])
    expect(deleted.status).toBe(200)
    for (const { status } of created) expect([201, 404, 409]).toContain(status)
    await untilAccountsDeleted(projectId)
  }
})
