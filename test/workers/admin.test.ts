import { eventually, make, newId, openScene, register } from '../kit.ts'
import { run } from '../processes/launch.ts'
import { execute, runAdmin } from './run-admin.ts'

const { service, ada, sql } = await openScene(['Ada'])
// An earlier release accepted control characters in names.
await sql`update users set name = ${'Ada\u001b[31m'} where id = ${ada.id}`

const admin = (...words: string[]) => runAdmin(service, ...words)
const textOf = async (...words: string[]) => (await admin(...words)).text
const signIn = (email: string, password = 'secret-1') =>
  service.client.post('/auth/login', { email, password })
const passwordIn = (text: string) => / password (\S{20})/.exec(text)![1]!
const nobody = (email: string) => ({ code: 1, text: `No account has the address ${email}` })
const rejected = (caller: typeof ada) =>
  eventually('the token to be rejected', async () => (await caller.get('/auth/me')).status === 401)

test('an operator creates an account, which is verified and can sign in with the printed password', async () => {
  const { code, text } = await admin('users', 'create', ' Grace@Example.com ', 'Grace Hopper')
  expect([code, text]).toEqual([
    0,
    expect.stringMatching(/^grace@example.com has the account [0-9a-f-]{36} and the password \S{20}$/),
  ])
  const { status, body } = await signIn('grace@example.com', passwordIn(text))
  expect([status, body.user]).toMatchObject([200, { name: 'Grace Hopper', emailVerified: true }])
  const again = { code: 1, text: 'grace@example.com already has an account' }
  expect(await admin('users', 'create', 'grace@example.com', 'Grace')).toEqual(again)
  const wrong = await admin('users', 'create', 'grace', '')
  expect([wrong.code, wrong.text]).toEqual([1, expect.stringMatching(/name must be .*; email must be /)])
})

test('an operator resets a password or signs out an account, which revokes its tokens, and verifies an address', async () => {
  const [reset, out] = [await register(service.client), await register(service.client)]
  const { code, text } = await admin('users', 'reset-password', reset.email.toUpperCase())
  expect([code, (await admin('users', 'sign-out', out.email)).code]).toEqual([0, 0])
  for (const one of [reset, out]) await rejected(one)
  const answers = [
    await signIn(reset.email, passwordIn(text)),
    await signIn(reset.email),
    await signIn(out.email),
  ]
  expect(answers.map(({ status }) => status)).toEqual([200, 401, 200])
  const said = { code: 0, text: `${out.email} is verified` }
  const isVerified = async () => (await signIn(out.email)).body.user as unknown
  expect(await isVerified()).toMatchObject({ emailVerified: false })
  for (const _ of [1, 2]) expect(await admin('users', 'verify', out.email)).toEqual(said)
  expect(await isVerified()).toMatchObject({ emailVerified: true })
  for (const verb of ['sign-out', 'reset-password', 'verify'])
    expect(await admin('users', verb, 'nobody@example.com')).toEqual(nobody('nobody@example.com'))
})

test('lists and shows accounts and projects', async () => {
  const { id: projectId } = await make(ada, '/projects', { name: 'Line feed' })
  await sql`update projects set name = ${'Line\nfeed'} where id = ${projectId}`
  const task = await make(ada, '/tasks', { title: 'T', projectId })
  await make(ada, `/tasks/${task.id}/comments`, { text: 'C' })
  await admin('users', 'create', 'zoe@example.com', 'Zoë'.normalize('NFD'))
  expect(await textOf('users', 'list', ada.email)).toBe(`${ada.id}  ${ada.email}  Ada [31m  owns 1`)
  expect(await textOf('users', 'list', 'zoë')).toContain('zoe@example.com')
  expect(await textOf('users', 'list', 'no such')).toBe('No account')
  const line = `${projectId}  version 3  ${ada.email}  Line feed`
  expect(await textOf('projects', 'list', ada.email)).toBe(line)
  expect(await textOf('projects')).toContain(line)
  const shown = (await textOf('projects', 'show', projectId)).split('\n').map((line) => line.split(/\s{2,}/))
  expect(Object.fromEntries(shown)).toMatchObject({
    ...{ id: projectId, owner: `${ada.email} (${ada.id})`, version: '3' },
    ...{ tasks: '1', comments: '1', events: '3' },
  })
  for (const id of [newId(), 'x'])
    expect(await admin('projects', 'show', id)).toEqual({ code: 1, text: `There is no project ${id}` })
})

test('prints stored control characters as spaces', async () => {
  const mallory = await register(service.client)
  const { id: projectId } = await make(mallory, '/projects', { name: 'P' })
  const email = `\u001b]0;m\u0007${mallory.email}`
  await sql`update users set email = ${email} where id = ${mallory.id}`
  for (const [group = '', verb = '', name = ''] of [
    ['users', 'list', mallory.email],
    ['projects', 'list', email],
    ['projects', 'show', projectId],
    ['users', 'sign-out', email],
  ]) {
    const { code, text } = await admin(group, verb, name)
    expect([code, text]).toEqual([0, expect.stringContaining(` ]0;m ${mallory.email}`)])
    expect(text).not.toMatch(/[\u001b\u0007]/)
  }
})

test('lists webhooks without the secret parts of their URLs, and disables a webhook', async () => {
  const { id: projectId } = await make(ada, '/projects', { name: 'Hooked' })
  const url = 'http://127.0.0.1:9/secret?token=secret'
  const { id } = await make(ada, `/projects/${projectId}/webhooks`, { url })
  const line = `${id}  project ${projectId}  http://127.0.0.1:9  enabled, 0 events behind`
  expect(await textOf('webhooks', 'list', projectId)).toBe(line)
  expect(await admin('webhooks', 'disable', id)).toEqual({ code: 0, text: `${id} is disabled` })
  expect(await textOf('webhooks')).toContain('disabled since')
  const disabledReason = 'An operator of the service disabled the webhook'
  const { body: hook } = await ada.get(`/projects/${projectId}/webhooks/${id}`)
  expect(hook).toMatchObject({ enabled: false, disabledReason } as never)
  const { body } = await ada.get(`/projects/${projectId}/history?limit=1`)
  expect(body).toMatchObject([{ type: 'webhook.updated', entityId: id, actor: { name: null } }] as never)
  const refused = { code: 1, text: `No enabled webhook has the id ${id}` }
  expect(await admin('webhooks', 'disable', id)).toEqual(refused)
  expect((await admin('webhooks', 'list', 'x')).code).toBe(1)
  expect(await textOf('webhooks', 'list', newId())).toBe('No webhook')
})

test('npm run admin uses the database of DATABASE_URL, and prints help without a database', async () => {
  const { code, output } = await run('admin', {})
  expect(code).toBe(0)
  for (const words of [
    ...['users create <email> <name>', 'users sign-out <email>', 'jobs retry <id|all>'],
    ...['webhooks disable <id>', 'projects show <id>'],
  ])
    expect(output).toContain(`  ${words}  `)
  const listed = await run('admin', { DATABASE_URL: service.env.DATABASE_URL! }, 'users', 'list', ada.email)
  expect(listed).toEqual({ code: 0, output: expect.stringContaining(ada.id) })
  expect((await run('admin', {}, 'sing')).code).toBe(1)
})

// These commands must work without JWT_SECRET.
const { config, database } = service.services
const context = { config: { ...config, jwtSecret: '' }, sql: database.background }

test('when an operator deletes a project, its long polls immediately get 404', async () => {
  const { id } = await make(ada, '/projects', { name: 'Doomed' })
  const task = await make(ada, '/tasks', { title: 'Doomed', projectId: id })
  expect((await ada.get(`/tasks/${task.id}`)).status).toBe(200)
  const waiting = ada.get(`/projects/${id}/events?after=2&wait=25`)
  const deleted = await execute(['projects', 'delete', id], context)
  expect(deleted).toEqual({ code: 0, text: `Doomed (${id}) is deleted; a worker deletes its rows` })
  expect((await ada.get(`/tasks/${task.id}`)).status).toBe(404)
  expect((await waiting).status).toBe(404)
  for (const unknown of [id, newId(), 'x']) {
    const refused = { code: 1, text: `There is no project ${unknown}` }
    expect(await execute(['projects', 'delete', unknown], context)).toEqual(refused)
  }
})

// This must be the last test of the service, because the workers keep running.
test('an operator deletes an account with its projects and memberships', async () => {
  const someone = await register(service.client)
  const { id: projectId } = await make(someone, '/projects', { name: 'Theirs' })
  const { id: shared } = await make(ada, '/projects', { name: 'Shared' })
  await ada.post(`/projects/${shared}/members/invite`, { email: someone.email })
  const remove = () => execute(['users', 'delete', someone.email.toUpperCase()], context)
  const text = `${someone.email} is deleted; a worker deletes its projects and memberships`
  expect(await remove()).toEqual({ code: 0, text })
  await rejected(someone)
  expect((await signIn(someone.email)).status).toBe(401)
  service.startWorkers()
  const members = async () => (await ada.get(`/projects/${shared}/members`)).body
  await eventually('the end of the membership', async () => (await members()).length === 0)
  const isPurged = async () => (await admin('projects', 'show', projectId)).code === 1
  await eventually('a purged project', isPurged)
  expect(await remove()).toEqual(nobody(someone.email.toUpperCase()))
})

const problems: [words: string, problem: string][] = [
  ['sing', '"sing" is not a command'],
  ['user', '"user" is not a command; did you mean users?'],
  ['users creat', '"creat" is not a command of users; did you mean create?'],
  ['users create x', 'users create: <name> is missing'],
  ['users create', 'users create: <email> and <name> are missing'],
  [
    'users create g@x.io Grace Hopper',
    'users create: "Hopper" is one argument too many; put quotes around a name',
  ],
  ['backup', 'backup: <file> is missing'],
  ['restore a replace b', 'restore: "b" is one argument too many'],
  ['constructor', '"constructor" is not a command'],
  ['users constructor', '"constructor" is not a command of users'],
  ['users sing', '"sing" is not a command of users'],
  ['projects show', 'projects show: <id> is missing'],
  ['jobs list x', 'jobs list: "x" is one argument too many'],
]

test.each(problems)('the command line %s prints the problem: %s', async (words, problem) => {
  const { code, text } = await execute(words.split(' '), context)
  expect([code, text]).toEqual([1, expect.stringContaining(problem)])
  expect(text).toContain('npm run admin -- …')
})
