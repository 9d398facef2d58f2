import { expect, test } from 'bun:test'
import { eventually, upTo } from '../races/pair.ts'
import { type Client, expiresAt, invite, make, type Person, register } from '../support/client.ts'
import { expectError } from './responses.ts'
import { unreachableUrl, openProject, openTeam } from './scene.ts'
import { accountsPath, openServiceAccount, tokensPath } from './service-account-scene.ts'

const { service, client, sql, people } = await openTeam([], { PROJECT_MEMBERS: '6' })
service.startWorkers()

const accountsGo = (projectId: string) =>
  eventually(
    'the accounts to go',
    async () => (await sql`select from users where project_id = ${projectId}`).length === 0,
  )
const isRefused = async (program: Client) => (await program.get('/auth/me')).status === 401

for (const way of ['deleted', 'removed from the members'])
  test(`a service account that is ${way} is gone, its tokens with it, and what it did stays`, async () => {
    const { projectId, account, program } = await openServiceAccount(people)
    const task = await make(program, '/tasks', { title: 'Wheels', projectId, assigneeId: account.id })
    await make(program, `/tasks/${task.id}/comments`, { text: 'Oiled' })
    const path =
      way === 'deleted'
        ? `${accountsPath(projectId)}/${account.id}`
        : `/projects/${projectId}/members/${account.memberId}`
    expect((await people.admin.delete(path)).status).toBe(200)
    expect((await people.viewer.get(accountsPath(projectId))).text).toBe('[]')
    await eventually('its tokens to be refused', () => isRefused(program))
    await accountsGo(projectId)
    expect(await sql`select from api_tokens where user_id = ${account.id}`).toHaveLength(0)
    expect((await people.viewer.get(`/tasks/${task.id}`)).body.assigneeId).toBeNull()
    const [comment] = (await people.viewer.get(`/tasks/${task.id}/comments`)).body
    expect(comment).toMatchObject({ author: null, authorRemoved: true, authorId: account.id } as never)
  })

test('service accounts go with their project, and with an owner who is gone', async () => {
  const { projectId, account, program } = await openServiceAccount(people)
  await make(people.admin, accountsPath(projectId), { name: 'Other' })
  expect((await program.get('/auth/me')).status).toBe(200)
  expect((await people.owner.delete(`/projects/${projectId}`)).status).toBe(200)
  await eventually('its tokens to be refused', () => isRefused(program))
  await accountsGo(projectId)
  expect(await sql`select from api_tokens where user_id = ${account.id}`).toHaveLength(0)
  const owner: Person = await register(client)
  const { id } = await make(owner, '/projects', { name: 'P' })
  await make(owner, accountsPath(id), { name: 'Importer' })
  expect((await owner.delete('/auth/me')).status).toBe(200)
  await accountsGo(id)
})

test('a repeat under a key makes no second one, and a full project none', async () => {
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

test('a service account lists page by page, and is no operation of a batch', async () => {
  const projectId = await openProject(people)
  for (const name of ['A', 'B', 'C']) await make(people.admin, accountsPath(projectId), { name })
  const first = await people.viewer.get(`${accountsPath(projectId)}?limit=2`)
  expect(first.body.map(({ name }) => name)).toEqual(['A', 'B'])
  expect(first.headers.get('link')).toContain('rel="next"')
  const operations = [{ op: 'serviceAccount.create', name: 'D' }]
  const batched = await people.admin.post(`/projects/${projectId}/batch`, { operations })
  expectError(batched, 400, /op must be the name of a command/)
})

test('one that is made while its project is deleted goes with it', async () => {
  for (const _ of upTo(10)) {
    const projectId = await openProject(people)
    const [deleted, ...made] = await Promise.all([
      people.owner.delete(`/projects/${projectId}`),
      ...upTo(4).map((n) => people.admin.post(accountsPath(projectId), { name: `${n}` })),
    ])
    expect(deleted.status).toBe(200)
    for (const { status } of made) expect([201, 404, 409]).toContain(status)
    await accountsGo(projectId)
  }
})

test('a repeat under a key is not answered to a caller who lost the right to the write', async () => {
  const { projectId, account } = await openServiceAccount(people)
  const admin: Person = await register(client)
  const member = await invite(people.owner, projectId, admin, 'ADMIN')
  const wanted = { name: 'T', scopes: ['read'], expiresAt }
  const repeat = async (path: string, body: object) => admin.post(path, body, { 'idempotency-key': path })
  const ofProject = () =>
    Promise.all([
      repeat(`/projects/${projectId}/webhooks`, { url: unreachableUrl }),
      repeat(tokensPath(account), wanted),
    ])
  for (const { status } of [...(await ofProject()), ...(await ofProject())]) expect(status).toBe(201)
  expect((await repeat('/tokens', wanted)).status).toBe(201)
  const path = `/projects/${projectId}/members/${member.id}`
  await people.owner.patch(`${path}/role`, { role: 'EDITOR' })
  for (const answer of await ofProject()) expectError(answer, 403)
  await people.owner.delete(path)
  for (const answer of await ofProject()) expectError(answer, 404)
  await admin.post('/auth/logout')
  expectError(await repeat('/tokens', wanted), 401)
})
