import { expect, test } from 'bun:test'
import { type Scope, scopes } from '../../src/identity/scopes.ts'
import { type Answer, type Body, invite, make, register } from '../support/client.ts'
import { type OpenApi, type Operation, operationsOf } from '../support/schema-check.ts'
import { forFile, openTestService } from '../support/service.ts'
import { expectRefusal } from './answers.ts'
import { nowhere } from './scene.ts'

const expiresAt = new Date(Date.now() + 86_400_000).toISOString()
const tokenWith = async (some: Scope[], over: object = {}) =>
  (await make(owner, '/tokens', { name: 'Importer', scopes: some, expiresAt, ...over })) as Body & {
    token: string
  }

const service = await forFile(openTestService())
const api = (await service.client.get('/../docs/json')).body as unknown as OpenApi
const owner = await register(service.client)
const tokens: Record<Scope, Body & { token: string }> = Object.fromEntries(
  await Promise.all(scopes.map(async (scope) => [scope, await tokenWith([scope])])),
)

/** Things of the owner's own, so that no role is in the way; a fresh project for each request. */
async function furnish(): Promise<Record<string, string>> {
  const { id: projects } = await make(owner, '/projects', { name: 'Engine' })
  const { id: members } = await invite(owner, projects, await register(service.client))
  const { id: tasks } = await make(owner, '/tasks', { title: 'Wheels', projectId: projects })
  const { id: subtasks } = await make(owner, `/tasks/${tasks}/subtasks`, { title: 'Oil' })
  const { id: comments } = await make(owner, `/tasks/${tasks}/comments`, { text: 'Slow' })
  const { id: account } = await make(owner, `/projects/${projects}/service-accounts`, { name: 'Importer' })
  const ids = { projects, members, tasks, subtasks, comments, tokens: tokens.read.id }
  const { id: webhooks } = await make(owner, `/projects/${projects}/webhooks`, { url: nowhere })
  return { ...ids, webhooks, 'service-accounts': account }
}

/** Of the event that makes the subtask. */
const subtaskSeq = 4

async function call(name: string, operation: Operation, token?: string): Promise<Answer> {
  const ids = await furnish()
  const [method = '', path = ''] = name.split(' ')
  const at = path
    .replace(/([\w-]+)\/\{\w+\}/g, (_, what: string) => `${what}/${ids[what]}`)
    .slice('/api/v1'.length)
  const example = operation.requestBody?.content?.['application/json']?.example as object | undefined
  const known: Record<string, unknown> = { projectId: ids.projects, seq: subtaskSeq }
  const fields = Object.entries(example ?? {}).map(([key, one]) => [key, known[key] ?? one])
  const body = example && Object.fromEntries(fields)
  if (operation.operationId === 'inviteMember')
    Object.assign(body!, { email: (await register(service.client)).email })
  return owner.as(token).call(method.toUpperCase(), at, body)
}

test('every operation is done with the scopes that the document says, and with no other', async () => {
  const rank = (scope: string) => scopes.indexOf(scope as Scope)
  for (const [name, operation] of operationsOf(api)) {
    const { security, 'x-scope': least } = operation
    if (security.length === 0) continue
    for (const scope of scopes) {
      const answer = await call(name, operation, tokens[scope].token)
      const wanted = !least ? 'sign in' : rank(scope) < rank(least) ? 'more' : 'done'
      const { status } = answer
      const found =
        status < 300
          ? 'done'
          : status !== 403
            ? status
            : /sign-in token/.test(answer.body.message)
              ? 'sign in'
              : 'more'
      expect([name, scope, found]).toEqual([name, scope, wanted])
      if (wanted === 'more') expectRefusal(answer, 403, `This needs an API token with the scope ${least}`)
    }
  }
})

test('what changes something takes no less than write, and what an ADMIN may, admin', () => {
  for (const [name, operation] of operationsOf(api)) {
    const { security, description, operationId, responses, 'x-scope': scope } = operation
    if (security.length === 0 || !scope) continue
    const isAdmin =
      /Takes the role ADMIN/.test(description) || ['deleteProject', 'removeMember'].includes(operationId)
    expect([name, scope]).toEqual([name, isAdmin ? 'admin' : responses[422] ? 'write' : 'read'])
    expect(description).toContain(`An API token needs the scope ${scope}.`)
  }
})

test('a scope gives nobody a higher role', async () => {
  const viewer = await register(service.client)
  const { projects } = await furnish()
  await invite(owner, projects!, viewer)
  const admin = await make(viewer, '/tokens', { name: 'A', scopes: ['admin'], expiresAt })
  const program = viewer.as((admin as Body & { token: string }).token)
  expectRefusal(await program.patch(`/projects/${projects}`, { name: 'N' }), 403, /the role ADMIN/)
  expectRefusal(await program.post('/tasks', { title: 'T', projectId: projects }), 403, /the role EDITOR/)
  expect((await program.get(`/projects/${projects}`)).status).toBe(200)
})

test('each operation of a batch takes its own scope', async () => {
  const { projects, members, tasks } = await furnish()
  const batch = (token: { token: string }, ...operations: object[]) =>
    owner.as(token.token).post(`/projects/${projects}/batch`, { operations })
  const write = { op: 'task.update', id: tasks, title: 'N' }
  const administer = { op: 'member.set_role', memberId: members, role: 'EDITOR' }
  expectRefusal(await batch(tokens.read, write), 403, 'This needs an API token with the scope write')
  expectRefusal(
    await batch(tokens.write, write, administer),
    403,
    'operations[1]: This needs an API token with the scope admin',
  )
  expect((await owner.get(`/tasks/${tasks}`)).body.title).toBe('Wheels')
  expect((await batch(tokens.write, write)).status).toBe(200)
  expect((await batch(tokens.admin, write, administer)).status).toBe(200)
})

test('to undo takes the scope of what is done by it', async () => {
  const { projects, members, tasks } = await furnish()
  await owner.patch(`/tasks/${tasks}`, { title: 'N' })
  await owner.patch(`/projects/${projects}/members/${members}/role`, { role: 'EDITOR' })
  const events = (await owner.get(`/projects/${projects}/events`)).body as unknown as {
    type: string
    seq: number
  }[]
  const undo = (scope: Scope, type: string) =>
    owner
      .as(tokens[scope].token)
      .post(`/projects/${projects}/undo`, { seq: events.find((one) => one.type === type)!.seq })
  expectRefusal(await undo('read', 'task.updated'), 403, 'This needs an API token with the scope write')
  expectRefusal(await undo('write', 'member.role_set'), 403, /scope admin$/)
  expect((await undo('write', 'task.updated')).status).toBe(200)
  expect((await undo('admin', 'member.role_set')).status).toBe(200)
})

test("another's comment is deleted with the scope admin alone", async () => {
  const { projects, tasks } = await furnish()
  const editor = await register(service.client)
  await invite(owner, projects!, editor, 'EDITOR')
  const { id } = await make(editor, `/tasks/${tasks}/comments`, { text: 'Here' })
  const path = `/tasks/comments/${id}`
  const needed = 'This needs an API token with the scope admin'
  expectRefusal(await owner.as(tokens.write.token).delete(path), 403, needed)
  const batch = { operations: [{ op: 'comment.delete', id }] }
  expectRefusal(
    await owner.as(tokens.write.token).post(`/projects/${projects}/batch`, batch),
    403,
    `operations[0]: ${needed}`,
  )
  expect((await owner.as(tokens.admin.token).delete(path)).status).toBe(200)
})

test('who is not in a project learns nothing by the scope of a token', async () => {
  const stranger = await register(service.client)
  const { projects } = await furnish()
  const read = await make(stranger, '/tokens', { name: 'R', scopes: ['read'], expiresAt })
  const program = stranger.as((read as Body & { token: string }).token)
  expectRefusal(await program.patch(`/projects/${projects}`, { name: 'N' }), 404, 'Project not found')
})
