import { eventually, make, newId, openScene, register } from '../kit.ts'
import { parseAdmin, type Output } from '../../workers/one-off/admin.ts'
import { execute } from './run-admin.ts'

const { service, ada } = await openScene(['Ada'])

// Admin commands must work without JWT_SECRET.
const { config, database } = service.services
const context = { config: { ...config, jwtSecret: '' }, sql: database.background }
const admin = (...words: string[]) => execute(words, context)
const signIn = (email: string, password: string) => service.client.post('/auth/login', { email, password })

test('an operator deletes an account with its projects and memberships', async () => {
  const someone = await register(service.client)
  const { id: projectId } = await make(someone, '/projects', { name: 'Theirs' })
  const { id: shared } = await make(ada, '/projects', { name: 'Shared' })
  await ada.post(`/projects/${shared}/members/invite`, { email: someone.email })
  expect(await admin('users', 'delete', someone.email.toUpperCase())).toEqual({
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
  await eventually('a purged project', async () => (await admin('projects', 'show', projectId)).code === 1)
  const nobody = { code: 1, text: `No account has the address ${someone.email}` }
  expect(await admin('users', 'delete', someone.email)).toEqual(nobody)
})

test('when an operator deletes a project, its long polls immediately get 404', async () => {
  const { id } = await make(ada, '/projects', { name: 'Doomed' })
  const task = await make(ada, '/tasks', { title: 'Doomed', projectId: id })
  expect((await ada.get(`/tasks/${task.id}`)).status).toBe(200)
  const held = ada.get(`/projects/${id}/events?after=2&wait=25`)
  const deleted = await admin('projects', 'delete', id)
  expect(deleted).toEqual({ code: 0, text: `Doomed (${id}) is deleted; a worker deletes its rows` })
  expect((await ada.get(`/tasks/${task.id}`)).status).toBe(404)
  expect((await held).status).toBe(404)
  for (const unknown of [id, newId(), 'x'])
    expect(await admin('projects', 'delete', unknown)).toEqual({
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
