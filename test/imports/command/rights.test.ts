import { expect, test } from 'bun:test'
import type { Caller, TokenRights } from '../../../src/identity/rights.ts'
import { newId } from '../../../src/ids.ts'
import { openProject, openTeam } from '../../http/scene.ts'
import { make, versionOf } from '../../support/client.ts'
import { openImport, outcomesOf, taskOf } from './scene.ts'

const { service, people, owner, admin, editor, viewer, stranger } = await openTeam()
const projectId = await openProject(people)
const field = { op: 'field', id: newId(), key: 'size', name: 'Size', type: 'number' } as const
const token = (rights: Partial<TokenRights>): TokenRights => ({
  ...{ id: newId(), scope: 'admin', projects: null },
  ...rights,
})
const importAs = (caller: Caller) => openImport(service, projectId, caller)

test.each([
  ['a stranger', { userId: stranger.id }, 404],
  ['a VIEWER', { userId: viewer.id }, 403],
  ['a token that may only read', { userId: editor.id, token: token({ scope: 'read' }) }, 403],
  [
    'a token that is bound to another project',
    { userId: owner.id, token: token({ projects: [newId()] }) },
    404,
  ],
])('is rejected for %s', async (_, caller, status) => {
  const version = await versionOf(owner, projectId)
  expect(importAs(caller)([taskOf('A')])).rejects.toMatchObject({ status })
  expect(importAs(caller)([taskOf('A')], { dryRun: true })).rejects.toMatchObject({ status })
  expect(await versionOf(owner, projectId)).toBe(version)
})

test('an EDITOR and a token with the scope write import tasks, but no fields', async () => {
  const callers = [
    { userId: editor.id },
    { userId: admin.id, token: token({ scope: 'write', projects: [projectId] }) },
  ]
  for (const caller of callers) {
    expect(outcomesOf(await importAs(caller)([taskOf(newId())]))).toEqual(['created'])
    for (const dryRun of [false, true])
      expect((await importAs(caller)([field], { dryRun })).results).toMatchObject([
        { outcome: 'rejected', message: expect.stringMatching(/role ADMIN|scope admin/) },
      ])
  }
  expect(outcomesOf(await importAs({ userId: admin.id })([field]))).toEqual(['created'])
})

test('another account changes imported tasks, but not the text of comments', async () => {
  const comment = { op: 'comment', id: newId(), taskId: '', text: 'One', importedAuthor: 'Grace' } as const
  const first = await importAs({ userId: editor.id })([taskOf('Shared')])
  const taskId = first.results[0]!.id
  await importAs({ userId: editor.id })([{ ...comment, taskId }])
  const run = importAs({ userId: admin.id })
  const again = await run([taskOf('Shared', { title: 'N' }), { ...comment, taskId }])
  expect(outcomesOf(again)).toEqual(['updated', 'unchanged'])
  const { results } = await run([{ ...comment, taskId, text: 'Two' }])
  expect(results).toEqual([
    { outcome: 'rejected', id: comment.id, message: 'Only the author may edit a comment' },
  ])
})

test('does not find external ids and ids of other projects', async () => {
  const other = await openProject(people)
  const task = await make(editor, '/tasks', { projectId: other, title: 'T', externalId: 'Elsewhere' })
  const { id } = await make(editor, `/tasks/${task.id}/comments`, { text: 'C' })
  const run = importAs({ userId: editor.id })
  const { results } = await run([
    taskOf('Elsewhere', { title: 'Here' }),
    { op: 'comment', id, taskId: task.id, text: 'X' },
    { op: 'references', id: task.id },
  ])
  const [created, ...others] = results
  expect(created!.outcome).toBe('created')
  expect(others.map(({ message }) => message)).toEqual(['Task not found', 'Task not found'])
  const taken = await run([{ op: 'comment', id, taskId: created!.id, text: 'X' }])
  expect(taken.results[0]).toMatchObject({
    outcome: 'rejected',
    message: expect.stringContaining('already used'),
  })
  expect((await editor.get(`/tasks/${task.id}`)).body).toEqual(task)
})
