import { anId, aTimestamp, eventually, expectError, expectResponse, expiresAt } from '../kit.ts'
import { invite, make, makeToken, malformedIds, openProject, openTeam, readFeed, register } from '../kit.ts'
import { unknownId, unreachableUrl, upTo, versionOf } from '../kit.ts'
import type { Answer, Person } from '../kit.ts'
import { type Account, accountsPath, emailOf, openServiceAccount, tokensPath } from './account-scene.ts'

const { service, client, sql, people } = await openTeam([], { PROJECT_MEMBERS: '6' })

test('a service account is a member with a role, and its name is shown in events and comments', async () => {
  const projectId = await openProject(people)
  const answer = await people.admin.post(accountsPath(projectId), { name: ' Importer ' })
  const account = answer.body as Account
  const { memberId } = account
  const expected = { id: anId, name: 'Importer', projectId, memberId: anId, role: 'VIEWER' }
  expectResponse(answer, 201, { ...expected, createdBy: people.admin.id, createdAt: aTimestamp })
  expect(answer.headers.get('location')).toBe(`/api/v1${accountsPath(projectId)}/${account.id}`)
  expect((await people.viewer.get(accountsPath(projectId))).body).toStrictEqual([account] as never)
  const user = { id: account.id, name: 'Importer', email: emailOf(account) }
  const members = (await people.viewer.get(`/projects/${projectId}/members`)).body
  expect(members.find(({ id }) => id === memberId)).toMatchObject({ user, role: 'VIEWER' } as never)
  const path = `/projects/${projectId}/members/${memberId}/role`
  for (const _ of 'ab') expect((await people.admin.patch(path, { role: 'EDITOR' })).status).toBe(200)
  expect((await people.viewer.get(accountsPath(projectId))).body).toMatchObject([{ role: 'EDITOR' }] as never)

  const { token } = await makeToken(people.admin, { scopes: ['write'] }, tokensPath(account))
  const program = people.owner.as(token)
  expect((await program.get('/auth/me')).body).toStrictEqual({ ...user, emailVerified: false } as never)
  const task = await make(program, '/tasks', { title: 'Wheels', projectId, assigneeId: account.id })
  const comment = await make(program, `/tasks/${task.id}/comments`, { text: 'Oiled' })
  expect(comment.author).toStrictEqual({ id: account.id, name: 'Importer' } as never)
  const events = await readFeed(people.viewer, `/projects/${projectId}/events`)
  const joined = events.find(({ after }) => after?.userId === account.id)
  expect(events.filter(({ type }) => type === 'member.role_set')).toHaveLength(1)
  const byAdmin = { id: people.admin.id }
  expect(joined).toMatchObject({ type: 'member.invited', actor: byAdmin, after: { user } } as never)
  const actor = { id: account.id, name: 'Importer' }
  expect(events.at(-1)).toMatchObject({ type: 'comment.created', actor })
})

test('an id that is not a service account of the project gets 404, also the id of a human member', async () => {
  const { projectId, account } = await openServiceAccount(people)
  const { account: other } = await openServiceAccount(people)
  const none = 'Service account not found'
  for (const id of [people.editor.id, people.owner.id, other.id, unknownId, ...malformedIds]) {
    expectError(await people.owner.delete(`${accountsPath(projectId)}/${id}`), 404, none)
    expectError(await people.owner.get(`${accountsPath(projectId)}/${id}/tokens`), 404, none)
    const fields = { name: 'T', scopes: ['read'], expiresAt }
    expectError(await people.owner.post(`${accountsPath(projectId)}/${id}/tokens`, fields), 404, none)
  }
  expectError(await people.owner.delete(`${tokensPath(account)}/${unknownId}`), 404, 'Token not found')
  const own = await makeToken(people.owner, { scopes: ['read'] })
  expectError(await people.owner.delete(`${tokensPath(account)}/${own.id}`), 404, 'Token not found')
})

test('a service account cannot sign in, and its e-mail address cannot be registered', async () => {
  const email = emailOf((await openServiceAccount(people)).account)
  for (const password of ['', 'null', 'secret-1'])
    expectError(await client.post('/auth/login', { email, password }), 401, 'Wrong email or password')
  expectError(await client.post('/auth/register', { name: 'Eve', email, password: 'secret-1' }), 409)
})

test('a service account sees only its project, cannot leave it, and cannot be invited to another', async () => {
  const { projectId, account, program } = await openServiceAccount(people, { role: 'ADMIN' })
  const other = await openProject(people)
  expectError(await program.post('/projects', { name: 'Mine' }), 403, /not bound to projects/)
  expect((await program.get('/projects')).body.map(({ id }) => id)).toEqual([projectId])
  expectError(await program.get(`/projects/${other}`), 404)
  const cannotLeave = 'A service account cannot leave its project'
  expectError(await program.delete(`/projects/${projectId}/members/${account.memberId}`), 403, cannotLeave)
  expectError(await program.delete(`${accountsPath(projectId)}/${account.id}`), 403, cannotLeave)
  // The removal of its creator with revoke=true would delete the account too.
  const members = (await program.get(`/projects/${projectId}/members`)).body
  const creator = members.find(({ userId }) => userId === people.admin.id)!
  const revoked = await program.delete(`/projects/${projectId}/members/${creator.id}?revoke=true`)
  expectError(revoked, 403, 'A service account cannot revoke itself')
  const batch = { operations: [{ op: 'member.remove', memberId: account.memberId }] }
  expectError(await program.post(`/projects/${projectId}/batch`, batch), 403, `operations[0]: ${cannotLeave}`)
  const events = await readFeed(program, `/projects/${projectId}/events?types=member.invited`)
  const { seq } = events.at(-1)!
  expectError(await program.post(`/projects/${projectId}/undo`, { seq }), 403, cannotLeave)
  const undone = await people.owner.post(`/projects/${projectId}/undo`, { seq })
  expectError(undone, 409, 'The invitation of a service account cannot be undone: delete the service account')
  const invited = { email: emailOf(account) }
  for (const id of [other, projectId])
    expectError(await people.owner.post(`/projects/${id}/members/invite`, invited), 404, 'User not found')
  const inBatch = { operations: [{ op: 'member.invite', ...invited }] }
  const batched = await people.owner.post(`/projects/${other}/batch`, inBatch)
  expectError(batched, 404, 'operations[0]: User not found')
  expect((await program.get(`/projects/${projectId}`)).status).toBe(200)
})

test('a service account has only the rights of its role, and its token bound to another project can read no project', async () => {
  const { projectId, program } = await openServiceAccount(people, { role: 'VIEWER' })
  expectError(await program.post('/tasks', { title: 'T', projectId }), 403, /the role EDITOR/)
  const bound = await openServiceAccount(people, { projects: [projectId] })
  expectError(await bound.program.get(`/projects/${projectId}`), 404)
  expectError(await bound.program.get(`/projects/${bound.projectId}`), 404)
})

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
    await eventually('the removal of its row', async () => {
      return (await sql`select from users where id = ${account.id}`).length === 0
    })
    expect(await sql`select from api_tokens where user_id = ${account.id}`).toHaveLength(0)
    if (!isProjectKept) return untilAccountsDeleted(projectId)
    expect((await people.viewer.get(accountsPath(projectId))).body).toMatchObject([
      { name: 'Other' },
    ] as never)
    expect((await people.viewer.get(`/tasks/${task.id}`)).body.assigneeId).toBeNull()
    const [comment] = (await people.viewer.get(`/tasks/${task.id}/comments`)).body
    expect(comment).toMatchObject({ author: null, authorRemoved: true, authorId: account.id } as never)
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

test('a repeat with its Idempotency-Key is rejected if the caller has since lost the right to write', async () => {
  const { projectId, account } = await openServiceAccount(people)
  const admin: Person = await register(client)
  const member = await invite(people.owner, projectId, admin, 'ADMIN')
  const fields = { name: 'T', scopes: ['read'], expiresAt }
  const repeat = async (path: string, body: object) => admin.post(path, body, { 'idempotency-key': path })
  const writesInProject = () =>
    Promise.all([
      repeat(`/projects/${projectId}/webhooks`, { url: unreachableUrl }),
      repeat(tokensPath(account), fields),
    ])
  for (const { status } of [...(await writesInProject()), ...(await writesInProject())])
    expect(status).toBe(201)
  expect((await repeat('/tokens', fields)).status).toBe(201)
  const path = `/projects/${projectId}/members/${member.id}`
  await people.owner.patch(`${path}/role`, { role: 'EDITOR' })
  for (const answer of await writesInProject()) expectError(answer, 403)
  await people.owner.delete(path)
  for (const answer of await writesInProject()) expectError(answer, 404)
  await admin.post('/auth/logout')
  expectError(await repeat('/tokens', fields), 401)
})
