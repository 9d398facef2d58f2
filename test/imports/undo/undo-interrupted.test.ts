import { expect, test } from 'bun:test'
import { unavailable } from '../../../src/responses/errors.ts'
import { endLostImports } from '../../../workers/imports/remove.ts'
import { openUndoImport } from '../../../workers/imports/undo-import.ts'
import { upTo } from '../../races/pair.ts'
import { invite, makeToken, type Person } from '../../support/client.ts'
import { comment, subtask, task } from '../run/items.ts'
import { fast, openRunScene, tasksOf } from '../run/scene.ts'

const { newProject, importItems, undo, work, services, sql, client: _ } = await openRunScene(3)

const items = upTo(9).flatMap((n) => [
  task(String(n), { labels: [`label ${n}`], fields: { size: `${n}` } }),
  subtask(String(n), 'Measure'),
  comment(String(n), 'Oil it'),
])
const all = { undoState: 'done', undone: 9, kept: 0, lines: [] }

/** Calls `change` after some batches of an undo. Ends the slice after each batch. */
function afterBatches(count: number, change: () => Promise<unknown>) {
  const execute = openUndoImport(services)
  let slices = 0
  return async (...[data, slice]: Parameters<typeof execute>) => {
    if (slices++ === count) await change()
    await execute(data, { ...slice, isOver: () => true })
  }
}

const errorOf = async (id: string) =>
  (await sql<{ error: string | null }[]>`select error from imports where id = ${id}`)[0]!.error

async function expectNothing(owner: Person, projectId: string) {
  for (const path of ['labels', 'fields'])
    expect((await owner.get(`/projects/${projectId}/${path}`)).text).toBe('[]')
  expect(await tasksOf(owner, projectId)).toEqual([])
}

test('undoes and counts each task once if the worker is killed before it stores the result of each batch', async () => {
  const { owner, projectId } = await newProject()
  const { id } = await importItems(owner, projectId, items)
  let calls = 0
  const killed = openUndoImport({
    ...services,
    runHere: async (request) => {
      const reply = await services.runHere(request)
      if (calls++ % 2 === 0) throw unavailable('killed')
      return reply
    },
  })
  expect(await undo(owner, id, fast, killed)).toEqual(all)
  expect(calls).toBeGreaterThan(6)
  await expectNothing(owner, projectId)
})

test.each([
  ['VIEWER', 'This needs the role EDITOR in the project'],
  [null, 'The project was deleted, or the account is no longer its member'],
])('an undo fails if the caller gets the role %p, and can be repeated', async (role, error) => {
  const { owner, projectId } = await newProject()
  const { owner: editor } = await newProject()
  const { id: memberId } = await invite(owner, projectId, editor, 'EDITOR')
  const { id } = await importItems(editor, projectId, items)
  const path = `/projects/${projectId}/members/${memberId}`
  const revoke = () => (role ? owner.patch(`${path}/role`, { role }) : owner.delete(path))
  const half = await undo(editor, id, fast, afterBatches(2, revoke))
  expect(half).toMatchObject({ undoState: 'failed', kept: 0 })
  expect(half.undone).toBeLessThan(9)
  expect(await errorOf(id)).toEndWith(error)
  expect(await undo(owner, id)).toEqual(all)
  expect(await errorOf(id)).toBeNull()
  await expectNothing(owner, projectId)
})

test('an EDITOR cannot undo the import of another account that has comments, but an ADMIN can', async () => {
  const { owner, projectId } = await newProject()
  const { owner: editor } = await newProject()
  await invite(owner, projectId, editor, 'EDITOR')
  const { id } = await importItems(owner, projectId, items)
  expect(await undo(editor, id)).toMatchObject({ undoState: 'failed', undone: 0 })
  expect(await errorOf(id)).toMatch(/^Seq \d+: Only the author or an admin may delete a comment$/)
  expect(await tasksOf(owner, projectId)).toHaveLength(9)
  expect(await undo(owner, id)).toEqual(all)
  await expectNothing(owner, projectId)
})

test('the error of a failed import remains, also after an undo that failed and one that succeeded', async () => {
  const { owner, projectId } = await newProject()
  const { id } = await importItems(owner, projectId, items)
  await sql`update imports set state = 'failed', error = 'Row 10: broken' where id = ${id}`
  const { owner: stranger } = await newProject()
  for (let n = 0; n < 2; n++) {
    expect(await undo(stranger, id)).toMatchObject({ undoState: 'failed' })
    expect(await errorOf(id)).toBe(
      'Row 10: broken. The undo failed: The project was deleted, or the account is no longer its member',
    )
  }
  await sql`update imports set undo_state = 'queued' where id = ${id}`
  await endLostImports(sql, fast)
  expect(await errorOf(id)).toBe('Row 10: broken. The undo failed: The worker failed at each attempt')
  expect(await undo(owner, id)).toEqual(all)
  expect(await errorOf(id)).toBe('Row 10: broken')
})

test('an undo fails if its API token is deleted, and can be repeated', async () => {
  const { owner, projectId } = await newProject()
  const { id: tokenId } = await makeToken(owner)
  const { id } = await importItems(owner, projectId, items)
  const caller = JSON.stringify({ userId: owner.id, token: { id: tokenId, scope: 'admin', projects: null } })
  const execute = afterBatches(2, () => owner.delete(`/tokens/${tokenId}`))
  await sql`update imports set undo_state = 'queued' where id = ${id}`
  await work(id, fast, (data, slice) => execute({ ...data, caller }, slice))
  expect(await errorOf(id)).toBe('The API token of the request was deleted, or has expired')
  expect(await undo(owner, id)).toEqual(all)
  await expectNothing(owner, projectId)
})

test('an undo keeps the fields if the caller is no longer an ADMIN, and a second undo deletes them', async () => {
  const { owner, projectId } = await newProject()
  const { owner: admin } = await newProject()
  const { id: memberId } = await invite(owner, projectId, admin, 'ADMIN')
  const { id } = await importItems(admin, projectId, items)
  const path = `/projects/${projectId}/members/${memberId}/role`
  const demote = () => owner.patch(path, { role: 'EDITOR' })
  const { lines, ...counts } = await undo(admin, id, fast, afterBatches(4, demote))
  expect([counts, lines.map(({ message }) => message)]).toEqual([
    { undoState: 'done', undone: 9, kept: 0 },
    ['The field "size": This needs the role ADMIN in the project'],
  ])
  expect(await undo(owner, id)).toEqual(all)
  await expectNothing(owner, projectId)
})
