import { expect, test } from 'bun:test'
import { type Scope, scopes } from '../../src/identity/rights.ts'
import { type Answer, invite, make, makeToken, register, type Token, withToken } from '../support/client.ts'
import { type OpenApi, type Operation, operationsOf } from '../support/schema-check.ts'
import { expectError } from './responses.ts'
import { readFeed } from './feed.ts'
import { exampleFor, createOwnProject } from './own-project.ts'
import { fillPath } from './scene.ts'
import { openScene } from '../support/scene.ts'

const { client, owner, guest, other } = await openScene(['Owner', 'Guest', 'Other'])
const api = (await client.get('/../docs/json')).body as unknown as OpenApi
const tokens: Record<Scope, Token> = Object.fromEntries(
  await Promise.all(scopes.map(async (scope) => [scope, await makeToken(owner, { scopes: [scope] })])),
)

const furnish = () => createOwnProject(owner, guest, other)

async function call(name: string, operation: Operation, token?: string): Promise<Answer> {
  const ids = { ...(await furnish()), tokenId: tokens.read.id }
  const [method = '', path = ''] = name.split(' ')
  return owner.as(token).call(method.toUpperCase(), fillPath(path, ids), exampleFor(operation, ids))
}

test('every operation is done with the scopes that the document says, and with no other', async () => {
  const rank = (scope: string) => scopes.indexOf(scope as Scope)
  for (const [name, operation] of operationsOf(api)) {
    const { security, 'x-scope': role } = operation
    if (security.length === 0) continue
    for (const scope of scopes) {
      const answer = await call(name, operation, tokens[scope].token)
      const wanted = !role ? 'sign in' : rank(scope) < rank(role) ? 'more' : 'done'
      const refused = /sign-in token/.test(answer.body?.message) ? 'sign in' : 'more'
      const found = { 403: refused, 200: 'done', 201: 'done', 204: 'done' }[answer.status] ?? answer.status
      expect([name, scope, found]).toEqual([name, scope, wanted])
      if (wanted === 'more') expectError(answer, 403, `This needs an API token with the scope ${role}`)
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
  const viewer = await register(client)
  const { projectId } = await furnish()
  await invite(owner, projectId, viewer)
  const program = await withToken(viewer)
  expectError(await program.patch(`/projects/${projectId}`, { name: 'N' }), 403, /the role ADMIN/)
  expectError(await program.post('/tasks', { title: 'T', projectId }), 403, /the role EDITOR/)
  expect((await program.get(`/projects/${projectId}`)).status).toBe(200)
})

test('each operation of a batch takes its own scope', async () => {
  const { projectId, memberId, taskId } = await furnish()
  const batch = (token: { token: string }, ...operations: object[]) =>
    owner.as(token.token).post(`/projects/${projectId}/batch`, { operations })
  const write = { op: 'task.update', id: taskId, title: 'N' }
  const administer = { op: 'member.set_role', memberId, role: 'EDITOR' }
  expectError(await batch(tokens.read, write), 403, 'This needs an API token with the scope write')
  const administered = await batch(tokens.write, write, administer)
  expectError(administered, 403, 'operations[1]: This needs an API token with the scope admin')
  expect((await owner.get(`/tasks/${taskId}`)).body.title).toBe('Wheels')
  expect((await batch(tokens.write, write)).status).toBe(200)
  expect((await batch(tokens.admin, write, administer)).status).toBe(200)
})

test('to undo takes the scope of what is done by it', async () => {
  const { projectId, memberId, taskId } = await furnish()
  await owner.patch(`/tasks/${taskId}`, { title: 'N' })
  await owner.patch(`/projects/${projectId}/members/${memberId}/role`, { role: 'EDITOR' })
  const events = await readFeed(owner, `/projects/${projectId}/events`)
  const undo = (scope: Scope, type: string) => {
    const { seq } = events.find((one) => one.type === type)!
    return owner.as(tokens[scope].token).post(`/projects/${projectId}/undo`, { seq })
  }
  expectError(await undo('read', 'task.updated'), 403, 'This needs an API token with the scope write')
  expectError(await undo('write', 'member.role_set'), 403, /scope admin$/)
  expect((await undo('write', 'task.updated')).status).toBe(200)
  expect((await undo('admin', 'member.role_set')).status).toBe(200)
})

test("another's comment is deleted with the scope admin alone", async () => {
  const { projectId, taskId } = await furnish()
  const editor = await register(client)
  await invite(owner, projectId, editor, 'EDITOR')
  const { id } = await make(editor, `/tasks/${taskId}/comments`, { text: 'Here' })
  const path = `/tasks/comments/${id}`
  const needed = 'This needs an API token with the scope admin'
  expectError(await owner.as(tokens.write.token).delete(path), 403, needed)
  const batch = { operations: [{ op: 'comment.delete', id }] }
  const inBatch = await owner.as(tokens.write.token).post(`/projects/${projectId}/batch`, batch)
  expectError(inBatch, 403, `operations[0]: ${needed}`)
  expect((await owner.as(tokens.admin.token).delete(path)).status).toBe(200)
})

test('who is not in a project learns nothing by the scope of a token', async () => {
  const stranger = await register(client)
  const { projectId } = await furnish()
  const program = await withToken(stranger, { scopes: ['read'] })
  expectError(await program.patch(`/projects/${projectId}`, { name: 'N' }), 404, 'Project not found')
})
