import { type Scope, scopes } from '../../src/identity/rights.ts'
import { expectError, fillPath, invite, make, makeToken, openScene, operationsOf, readFeed } from '../kit.ts'
import { register, unknownId, withToken } from '../kit.ts'
import type { Answer, OpenApi, Operation, Token } from '../kit.ts'
import { createOwnImport, endingUndo } from './own-import.ts'
import { createOwnProject, exampleFor, queryFor } from './own-project.ts'

const { client, sql, owner, guest, other } = await openScene(['Owner', 'Guest', 'Other'])
const api = (await client.get('/../docs/json')).body as unknown as OpenApi
const tokens: Record<Scope, Token> = Object.fromEntries(
  await Promise.all(scopes.map(async (scope) => [scope, await makeToken(owner, { scopes: [scope] })])),
)

const createProject = () => createOwnProject(owner, guest, other)
const unchanged = await createProject()

/** Calls an operation in a new project if the call will change the project. */
async function call(name: string, operation: Operation, scope: Scope, isChange: boolean): Promise<Answer> {
  const own = isChange ? await createProject() : unchanged
  const importId = await createOwnImport(sql, owner, own, operation)
  const ids = { ...own, importId, tokenId: tokens.read.id }
  const [method = '', path = ''] = name.split(' ')
  const filled = fillPath(path, ids) + queryFor(operation, ids.projectId)
  const answer = owner.as(tokens[scope].token).call(method.toUpperCase(), filled, exampleFor(operation, ids))
  return endingUndo(sql, operation, answer)
}

test('every operation accepts exactly the scopes that the document lists', async () => {
  const rank = (scope: string) => scopes.indexOf(scope as Scope)
  for (const [name, operation] of operationsOf(api)) {
    const { security, 'x-scope': role } = operation
    if (security.length === 0) continue
    for (const scope of scopes) {
      const expected = !role ? 'sign-in token' : rank(scope) < rank(role) ? 'more scope' : 'success'
      const isChange = expected === 'success' && !name.startsWith('get')
      const answer = await call(name, operation, scope, isChange)
      const needed = /sign-in token/.test(answer.body?.message) ? 'sign-in token' : 'more scope'
      const found =
        { 403: needed, 200: 'success', 201: 'success', 202: 'success', 204: 'success' }[answer.status] ??
        answer.status
      expect([name, scope, found]).toEqual([name, scope, expected])
      if (expected === 'more scope')
        expectError(answer, 403, `This needs an API token with the scope ${role}`)
    }
  }
})

test('a write needs at least the scope write, and an operation for ADMINs needs the scope admin', () => {
  for (const [name, operation] of operationsOf(api)) {
    const { security, description, operationId, responses, 'x-scope': scope } = operation
    if (security.length === 0 || !scope) continue
    const isAdmin =
      /Requires the role ADMIN/.test(description) || ['deleteProject', 'removeMember'].includes(operationId)
    expect([name, scope]).toEqual([name, isAdmin ? 'admin' : responses[422] ? 'write' : 'read'])
    expect(description).toContain(`An API token needs the scope ${scope}.`)
  }
})

test("a scope grants no more rights than the account's role", async () => {
  const viewer = await register(client)
  const { projectId } = await createProject()
  await invite(owner, projectId, viewer)
  const program = await withToken(viewer)
  expectError(await program.patch(`/projects/${projectId}`, { name: 'N' }), 403, /the role ADMIN/)
  expectError(await program.post('/tasks', { title: 'T', projectId }), 403, /the role EDITOR/)
  expect((await program.get(`/projects/${projectId}`)).status).toBe(200)
})

test('each operation of a batch needs its own scope', async () => {
  const { projectId, memberId, taskId } = await createProject()
  const batch = (token: { token: string }, ...operations: object[]) =>
    owner.as(token.token).post(`/projects/${projectId}/batch`, { operations })
  const write = { op: 'task.update', id: taskId, title: 'N' }
  const administer = { op: 'member.set_role', memberId, role: 'EDITOR' }
  expectError(await batch(tokens.read, write), 403, 'This needs an API token with the scope write')
  const administered = await batch(tokens.write, write, administer)
  expectError(administered, 403, 'operations[1]: This needs an API token with the scope admin')
  // The caller needs all rights before the first operation fails.
  const missing = await batch(tokens.write, { ...write, id: unknownId }, administer)
  expectError(missing, 403, 'operations[1]: This needs an API token with the scope admin')
  expect((await owner.get(`/tasks/${taskId}`)).body.title).toBe('Wheels')
  expect((await batch(tokens.write, write)).status).toBe(200)
  expect((await batch(tokens.admin, write, administer)).status).toBe(200)
})

test('an undo needs the scope of the change that it undoes', async () => {
  const { projectId, memberId, taskId } = await createProject()
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

test("deleting another member's comment needs the scope admin", async () => {
  const { projectId, taskId } = await createProject()
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

test('a stranger to a project gets 404, whatever the scope of the token', async () => {
  const stranger = await register(client)
  const { projectId } = await createProject()
  const program = await withToken(stranger, { scopes: ['read'] })
  expectError(await program.patch(`/projects/${projectId}`, { name: 'N' }), 404, 'Project not found')
})
