import { eventually, expectError, expiresAt, invite, make, openProject, openTeam, register } from '../kit.ts'
import { unreachableUrl, upTo } from '../kit.ts'
import type { Client, Person } from '../kit.ts'
import { accountsPath, openServiceAccount, tokensPath } from './account-scene.ts'

const { service, client, sql, people } = await openTeam([], { PROJECT_MEMBERS: '6' })
service.startWorkers()

const untilAccountsDeleted = (id: string) =>
  eventually(
    'the removal of the accounts',
    async () => (await sql`select from users where project_id = ${id}`).length === 0,
  )
const isRejected = async (program: Client) => (await program.get('/auth/me')).status === 401

for (const how of ['deleted', 'removed from the members'])
  test(`a service account that is ${how} loses its tokens, and its tasks and comments stay`, async () => {
    const { projectId, account, program } = await openServiceAccount(people)
    const task = await make(program, '/tasks', { title: 'Wheels', projectId, assigneeId: account.id })
    await make(program, `/tasks/${task.id}/comments`, { text: 'Oiled' })
    const path =
      how === 'deleted'
        ? `${accountsPath(projectId)}/${account.id}`
        : `/projects/${projectId}/members/${account.memberId}`
    expect((await people.admin.delete(path)).status).toBe(200)
    expect((await people.viewer.get(accountsPath(projectId))).text).toBe('[]')
    await eventually('the rejection of its tokens', () => isRejected(program))
    await untilAccountsDeleted(projectId)
    expect(await sql`select from api_tokens where user_id = ${account.id}`).toHaveLength(0)
    expect((await people.viewer.get(`/tasks/${task.id}`)).body.assigneeId).toBeNull()
    const [comment] = (await people.viewer.get(`/tasks/${task.id}/comments`)).body
    expect(comment).toMatchObject({ author: null, authorRemoved: true, authorId: account.id } as never)
  })

test('service accounts are deleted with their project and with the account of its owner', async () => {
  const { projectId, account, program } = await openServiceAccount(people)
  await make(people.admin, accountsPath(projectId), { name: 'Other' })
  expect((await program.get('/auth/me')).status).toBe(200)
  expect((await people.owner.delete(`/projects/${projectId}`)).status).toBe(200)
  await eventually('the rejection of its tokens', () => isRejected(program))
  await untilAccountsDeleted(projectId)
  expect(await sql`select from api_tokens where user_id = ${account.id}`).toHaveLength(0)
  const owner: Person = await register(client)
  const { id } = await make(owner, '/projects', { name: 'P' })
  await make(owner, accountsPath(id), { name: 'Importer' })
  expect((await owner.delete('/auth/me')).status).toBe(200)
  await untilAccountsDeleted(id)
})

test('a repeat with its Idempotency-Key creates no second account, and a full project rejects a new account', async () => {
  const projectId = await openProject(people)
  const key = { 'idempotency-key': 'the importer' }
  const repeat = () => people.admin.post(accountsPath(projectId), { name: 'Importer' }, key)
  const answers = await Promise.all(upTo(4).map(repeat))
  expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1)
  expect((await people.admin.get(accountsPath(projectId))).body).toHaveLength(1)
  const add = () => people.admin.post(accountsPath(projectId), { name: 'More' })
  const full = (await Promise.all(upTo(6).map(add))).filter(({ status }) => status !== 201)
  expect(full).toHaveLength(4)
  for (const one of full) expectError(one, 409, 'A project has at most 6 members')
  expect(await sql`select from users where project_id = ${projectId}`).toHaveLength(3)
})

test('the list of service accounts has pages, and a batch cannot create a service account', async () => {
  const projectId = await openProject(people)
  for (const name of ['A', 'B', 'C']) await make(people.admin, accountsPath(projectId), { name })
  const first = await people.viewer.get(`${accountsPath(projectId)}?limit=2`)
  expect(first.body.map(({ name }) => name)).toEqual(['A', 'B'])
  expect(first.headers.get('link')).toContain('rel="next"')
  const operations = [{ op: 'serviceAccount.create', name: 'D' }]
  const batched = await people.admin.post(`/projects/${projectId}/batch`, { operations })
  expectError(batched, 400, /op must be the name of a command/)
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
