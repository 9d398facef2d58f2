import { eventually, make, newId, openScene, register } from '../kit.ts'
import { run } from '../processes/launch.ts'
import { execute, runAdmin } from './run-admin.ts'
import { type Output, parseAdmin } from '../../workers/one-off/admin.ts'

const { service, ada } = await openScene(['Ada'])
// An earlier release accepted control characters in names.
await service.services.database.background`update users set name = ${'Ada\u001b[31m'} where id = ${ada.id}`

const admin = (...words: string[]) => runAdmin(service, ...words)
const signIn = (email: string, password: string) => service.client.post('/auth/login', { email, password })
const passwordIn = (text: string) => / password (\S{20})/.exec(text)![1]!

test('an operator creates an account, which can sign in with the printed password', async () => {
  const { code, text } = await admin('users', 'create', ' Grace@Example.com ', 'Grace Hopper')
  expect([code, text]).toEqual([
    0,
    expect.stringMatching(/^grace@example.com has the account [0-9a-f-]{36} and the password \S{20}$/),
  ])
  const { status, body } = await signIn('grace@example.com', passwordIn(text))
  expect([status, body.user.name]).toEqual([200, 'Grace Hopper'])
  const again = { code: 1, text: 'grace@example.com already has an account' }
  expect(await admin('users', 'create', 'grace@example.com', 'Grace')).toEqual(again)
  const wrong = await admin('users', 'create', 'grace', '')
  expect([wrong.code, wrong.text]).toEqual([1, expect.stringMatching(/name must be .*; email must be /)])
})

test('an operator resets a password, which revokes the old password and all tokens', async () => {
  const before = await register(service.client)
  const { code, text } = await admin('users', 'reset-password', before.email.toUpperCase())
  expect(code).toBe(0)
  expect((await signIn(before.email, passwordIn(text))).status).toBe(200)
  expect((await signIn(before.email, 'secret-1')).status).toBe(401)
  await eventually('the token to be rejected', async () => (await before.get('/auth/me')).status === 401)
})

test('an operator marks an address as verified; a created account is verified', async () => {
  const someone = await register(service.client)
  const isVerified = async (email: string) =>
    service.services.database
      .background`select email_verified_at is not null as is from users where email = ${email}`
  const [no, yes] = [[{ is: false }], [{ is: true }]] as never[]
  expect(await isVerified(someone.email)).toEqual(no!)
  const said = { code: 0, text: `${someone.email} is verified` }
  for (const _ of [1, 2]) expect(await admin('users', 'verify', someone.email)).toEqual(said)
  expect(await isVerified(someone.email)).toEqual(yes!)
  await admin('users', 'create', 'new@example.com', 'New')
  expect(await isVerified('new@example.com')).toEqual(yes!)
  expect((await admin('users', 'verify', 'nobody@example.com')).code).toBe(1)
})

test('an operator signs out an account, which revokes its tokens', async () => {
  const someone = await register(service.client)
  expect((await someone.get('/auth/me')).status).toBe(200)
  expect((await admin('users', 'sign-out', someone.email)).code).toBe(0)
  await eventually('the token to be rejected', async () => (await someone.get('/auth/me')).status === 401)
  expect((await signIn(someone.email, 'secret-1')).status).toBe(200)
  const nobody = { code: 1, text: 'No account has the address nobody@example.com' }
  for (const verb of ['sign-out', 'reset-password'])
    expect(await admin('users', verb, 'nobody@example.com')).toEqual(nobody)
})

test('lists and shows accounts and projects', async () => {
  const { id: projectId } = await make(ada, '/projects', { name: 'Line feed' })
  await service.services.database
    .background`update projects set name = ${'Line\nfeed'} where id = ${projectId}`
  const task = await make(ada, '/tasks', { title: 'T', projectId })
  await make(ada, `/tasks/${task.id}/comments`, { text: 'C' })
  expect((await admin('users', 'list', ada.email)).text).toBe(`${ada.id}  ${ada.email}  Ada [31m  owns 1`)
  await admin('users', 'create', 'zoe@example.com', 'Zoë'.normalize('NFD'))
  expect((await admin('users', 'list', 'zoë')).text).toContain('zoe@example.com')
  expect((await admin('users', 'list', 'no such')).text).toBe('No account')
  expect((await admin('projects', 'list', ada.email)).text).toBe(
    `${projectId}  version 3  ${ada.email}  Line feed`,
  )
  expect((await admin('projects')).text).toContain(projectId)
  const { text } = await admin('projects', 'show', projectId)
  const shown = Object.fromEntries(text.split('\n').map((line) => line.split(/\s{2,}/)))
  expect(shown).toMatchObject({
    id: projectId,
    owner: `${ada.email} (${ada.id})`,
    version: '3',
    tasks: '1',
    comments: '1',
    events: '3',
  })
  const unknown = newId()
  for (const id of [unknown, 'x'])
    expect(await admin('projects', 'show', id)).toEqual({ code: 1, text: `There is no project ${id}` })
})

test('prints stored control characters as spaces', async () => {
  const mallory = await register(service.client)
  const { id: projectId } = await make(mallory, '/projects', { name: 'P' })
  const email = `\u001b]0;m\u0007${mallory.email}`
  await service.services.database.background`update users set email = ${email} where id = ${mallory.id}`
  const said = [await admin('users', 'list', mallory.email), await admin('projects', 'list', email)]
  said.push(await admin('projects', 'show', projectId), await admin('users', 'sign-out', email))
  for (const { code, text } of said) {
    expect([code, text]).toEqual([0, expect.stringContaining(` ]0;m ${mallory.email}`)])
    expect(text).not.toMatch(/[\u001b\u0007]/)
  }
})

test('lists webhooks without the secret parts of their URLs, and disables a webhook', async () => {
  const { id: projectId } = await make(ada, '/projects', { name: 'Hooked' })
  const url = 'http://127.0.0.1:9/secret?token=secret'
  const hook = await make(ada, `/projects/${projectId}/webhooks`, { url })
  const line = (state: string) =>
    `${hook.id}  project ${projectId}  http://127.0.0.1:9  ${state}, 0 events behind`
  expect((await admin('webhooks', 'list', projectId)).text).toBe(line('enabled'))
  expect(await admin('webhooks', 'disable', hook.id)).toEqual({ code: 0, text: `${hook.id} is disabled` })
  expect((await admin('webhooks')).text).toContain('disabled since')
  expect((await ada.get(`/projects/${projectId}/webhooks/${hook.id}`)).body).toMatchObject({
    enabled: false,
    disabledReason: 'An operator of the service disabled the webhook',
  })
  const { body } = await ada.get(`/projects/${projectId}/history?limit=1`)
  expect(body).toMatchObject([{ type: 'webhook.updated', entityId: hook.id, actor: { name: null } }] as never)
  const refused = { code: 1, text: `No enabled webhook has the id ${hook.id}` }
  expect(await admin('webhooks', 'disable', hook.id)).toEqual(refused)
  expect((await admin('webhooks', 'list', 'x')).code).toBe(1)
  expect((await admin('webhooks', 'list', newId())).text).toBe('No webhook')
})

test('prints help', async () => {
  const all = await admin('help')
  expect(all.code).toBe(0)
  for (const words of [
    'users create <email> <name>',
    'users sign-out <email>',
    'jobs retry <id|all>',
    'webhooks disable <id>',
    'projects show <id>',
  ])
    expect(all.text).toContain(`  ${words}  `)
})

test('npm run admin uses the database of DATABASE_URL, and prints help without a database', async () => {
  expect(await run('admin', {})).toEqual({
    code: 0,
    output: expect.stringContaining('users create <email> <name>'),
  })
  const env = { DATABASE_URL: service.env.DATABASE_URL! }
  const { code, output } = await run('admin', env, 'users', 'list', ada.email)
  expect([code, output]).toEqual([0, expect.stringContaining(ada.id)])
  expect((await run('admin', {}, 'sing')).code).toBe(1)
})

// Admin commands must work without JWT_SECRET.
const { config, database } = service.services
const context = { config: { ...config, jwtSecret: '' }, sql: database.background }
const adminWithContext = (...words: string[]) => execute(words, context)

test('an operator deletes an account with its projects and memberships', async () => {
  const someone = await register(service.client)
  const { id: projectId } = await make(someone, '/projects', { name: 'Theirs' })
  const { id: shared } = await make(ada, '/projects', { name: 'Shared' })
  await ada.post(`/projects/${shared}/members/invite`, { email: someone.email })
  expect(await adminWithContext('users', 'delete', someone.email.toUpperCase())).toEqual({
    code: 0,
    text: `${someone.email} is deleted; a worker deletes its projects and memberships`,
  })
  await eventually('the token to be rejected', async () => (await someone.get('/auth/me')).status === 401)
  expect((await signIn(someone.email, 'secret-1')).status).toBe(401)
  service.startWorkers()
  await eventually('the end of the membership', async () => {
    const { body } = await ada.get(`/projects/${shared}/members`)
    return !body.some(({ userId }) => userId === someone.id)
  })
  await eventually(
    'a purged project',
    async () => (await adminWithContext('projects', 'show', projectId)).code === 1,
  )
  const nobody = { code: 1, text: `No account has the address ${someone.email}` }
  expect(await adminWithContext('users', 'delete', someone.email)).toEqual(nobody)
})

test('when an operator deletes a project, its long polls immediately get 404', async () => {
  const { id } = await make(ada, '/projects', { name: 'Doomed' })
  const task = await make(ada, '/tasks', { title: 'Doomed', projectId: id })
  expect((await ada.get(`/tasks/${task.id}`)).status).toBe(200)
  const held = ada.get(`/projects/${id}/events?after=2&wait=25`)
  const deleted = await adminWithContext('projects', 'delete', id)
  expect(deleted).toEqual({ code: 0, text: `Doomed (${id}) is deleted; a worker deletes its rows` })
  expect((await ada.get(`/tasks/${task.id}`)).status).toBe(404)
  expect((await held).status).toBe(404)
  for (const unknown of [id, newId(), 'x'])
    expect(await adminWithContext('projects', 'delete', unknown)).toEqual({
      code: 1,
      text: `There is no project ${unknown}`,
    })
})

const problems = [
  [['sing'], '"sing" is not a command'],
  [['user'], '"user" is not a command; did you mean users?'],
  [['users', 'creat'], '"creat" is not a command of users; did you mean create?'],
  [['users', 'create', 'x'], 'users create: <name> is missing'],
  [['users', 'create'], 'users create: <email> and <name> are missing'],
  [
    ['users', 'create', 'g@x.io', 'Grace', 'Hopper'],
    'users create: "Hopper" is one argument too many; put quotes around a name',
  ],
  [['backup'], 'backup: <file> is missing'],
  [['restore', 'a', 'replace', 'b'], 'restore: "b" is one argument too many'],
  [['constructor'], '"constructor" is not a command'],
  [['users', 'constructor'], '"constructor" is not a command of users'],
  [['users', 'sing'], '"sing" is not a command of users'],
  [['projects', 'show'], 'projects show: <id> is missing'],
  [['jobs', 'list', 'x'], 'jobs list: "x" is one argument too many'],
] as const

test.each(problems)('the command line %p prints the problem: %s', (words, problem) => {
  const { code, text } = parseAdmin([...words]) as Output
  expect([code, text]).toEqual([1, expect.stringContaining(problem)])
  expect(text).toContain('npm run admin -- …')
})
