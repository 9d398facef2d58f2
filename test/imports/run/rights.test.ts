import { endLostImports, invite, makeToken, type Person, upTo } from '../../kit.ts'
import { comment, fast, fileOf, openRunScene, perBatch, subtask, task, tasksOf } from './scene.ts'

const scene = await openRunScene(3)
const { newProject, importItems, queue, work, execute, undo, executeUndo, resultOf, sql } = scene

const count = 9
const items = upTo(count).flatMap((n) => [
  task(String(n), {
    ...{ labels: [`label ${n}`], fields: { size: `${n}` } },
    ...(n > 1 && { blockedBy: [String(n - 1)] }),
  }),
  subtask(String(n), 'Measure'),
  comment(String(n), 'Oil it'),
])
const all = { undoState: 'done', undone: count, kept: 0, lines: [] }
const errorOf = async (id: string) => (await resultOf(id)).error

/** A project of the owner, and an account with a role in it. */
async function openShared(role = 'EDITOR') {
  const { owner, projectId } = await newProject()
  const { owner: other } = await newProject()
  const { id: memberId } = await invite(owner, projectId, other, role)
  return { owner, other, projectId, member: `/projects/${projectId}/members/${memberId}` }
}
type Shared = Awaited<ReturnType<typeof openShared>>

/** Runs an import, and `change` after its first tasks. */
async function changedAfterTasks(id: string, change: () => Promise<unknown>) {
  let isChanged = false
  await work(id, perBatch, async (data, throttle) => {
    if (!isChanged && (await resultOf(id)).counts.created > 0) {
      isChanged = true
      await change()
    }
    await execute(data, throttle)
  })
  expect(isChanged).toBe(true)
  return resultOf(id)
}

/** Calls `change` after some batches of an undo. Ends the slice after each batch. */
function afterBatches(count: number, change: () => Promise<unknown>) {
  let slices = 0
  return async (...[data, slice]: Parameters<typeof executeUndo>) => {
    if (slices++ === count) await change()
    await executeUndo(data, { ...slice, isOver: () => true })
  }
}

async function expectNothing(owner: Person, projectId: string) {
  for (const path of ['labels', 'fields'])
    expect((await owner.get(`/projects/${projectId}/${path}`)).text).toBe('[]')
  expect(await tasksOf(owner, projectId)).toEqual([])
}

const missing = 'The project was deleted, or the account is no longer its member'
const changes: Record<
  string,
  [change: (shared: Shared, tokenId: string) => Promise<unknown>, error: string]
> = {
  'the role becomes VIEWER': [
    ({ owner, member }) => owner.patch(`${member}/role`, { role: 'VIEWER' }),
    'This needs the role EDITOR in the project',
  ],
  'the membership ends': [({ owner, member }) => owner.delete(member), missing],
  'the project is deleted': [({ owner, projectId }) => owner.delete(`/projects/${projectId}`), missing],
  'the API token expires': [
    (_, tokenId) => sql`update api_tokens set expires_at = now() where id = ${tokenId}`,
    'The API token of the request was deleted, or has expired',
  ],
  'the API token is deleted': [
    ({ other }, tokenId) => other.delete(`/tokens/${tokenId}`),
    'The API token of the request was deleted, or has expired',
  ],
}

test.each(Object.entries(changes))(
  'if %s, an import, a dry run and an undo fail, and keep what they committed',
  async (name, [change, error]) => {
    const shared = await openShared('ADMIN')
    const { owner, other, projectId } = shared
    const { id: tokenId } = await makeToken(other)
    const caller = { userId: other.id, token: { id: tokenId, scope: 'admin' as const, projects: null } }
    const id = await queue(other, projectId, fileOf(items), { caller })
    const failed = await changedAfterTasks(id, () => change(shared, tokenId))
    expect(failed).toMatchObject({ state: 'failed', error, counts: { created: 3 } })
    const dryRun = await queue(other, projectId, fileOf(items), { caller, dryRun: true })
    await work(dryRun)
    expect(await resultOf(dryRun)).toMatchObject({ state: 'failed', error, counts: { created: 0 } })
    if (name === 'the project is deleted') return
    expect(await tasksOf(owner, projectId)).toHaveLength(3)

    const again = await openShared('ADMIN')
    const { id: ofAgain } = await makeToken(again.other)
    const imported = await importItems(again.other, again.projectId, items)
    const revoke = afterBatches(2, () => change(again, ofAgain))
    const undoer = { userId: again.other.id, token: { ...caller.token, id: ofAgain } }
    const half = await undo(again.other, imported.id, fast, revoke, undoer)
    expect(half).toMatchObject({ undoState: 'failed', kept: 0 })
    expect(half.undone).toBeLessThan(count)
    expect(await errorOf(imported.id)).toEndWith(error)
    expect(await undo(again.owner, imported.id)).toEqual(all)
    expect(await errorOf(imported.id)).toBeNull()
    await expectNothing(again.owner, again.projectId)
  },
)

test('a cancelled import keeps and counts what it committed', async () => {
  const { owner, projectId } = await newProject()
  const id = await queue(owner, projectId, fileOf(items))
  const result = await changedAfterTasks(id, () => owner.delete(`/imports/${id}`))
  expect(result).toMatchObject({ state: 'cancelled', counts: { read: count, created: 3 } })
  expect(await tasksOf(owner, projectId)).toHaveLength(3)
  expect(await sql`select from import_items where import_id = ${id}`).toHaveLength(0)
})

test('an import does not overwrite changes that others make meanwhile', async () => {
  const { owner, projectId } = await newProject()
  const id = await queue(owner, projectId, fileOf(items))
  const result = await changedAfterTasks(id, async () => {
    const [first, second] = await tasksOf(owner, projectId)
    await owner.patch(`/tasks/${first!.id}`, { title: 'Changed' })
    await owner.delete(`/tasks/${second!.id}`)
  })
  expect(result.state).toBe('done')
  expect(result.lines.map(({ outcome, message }) => [outcome, message])).toEqual([
    ['rejected', 'The subtask: Task not found'],
    ['rejected', 'The comment: Task not found'],
    ['created', 'The blockers were left out: Task not found'],
    ['created', 'The blockers were left out: they must be the ids of tasks in the project'],
  ])
  expect((await tasksOf(owner, projectId))[0]!.title).toBe('Changed')
})

test('an EDITOR, and a token with the scope write, import tasks, but no fields and no description', async () => {
  const { owner, other, projectId } = await openShared()
  const { id: tokenId } = await makeToken(owner, { scopes: ['write'] })
  const token = { id: tokenId, scope: 'write' as const, projects: [projectId] }
  for (const [person, caller, right] of [
    [other, { userId: other.id }, 'role ADMIN in the project'],
    [owner, { userId: owner.id, token }, 'scope admin'],
  ] as const)
    for (const dryRun of [true, false]) {
      const settings = { kind: 'project', description: 'In brass' } as const
      const file = [settings, task(person === owner ? '1' : '2', { fields: { size: 1 } })]
      const { counts, lines } = await importItems(person, projectId, file, { caller, dryRun })
      expect(counts).toMatchObject({ created: 1, rejected: 0 })
      const report = lines.map(({ message }) => message).join('\n')
      for (const part of ['description and settings of the project', 'field "size"'])
        expect(report).toMatch(new RegExp(`The ${part}: .*${right}`))
    }
  expect((await owner.get(`/projects/${projectId}/fields`)).text).toBe('[]')
  expect(await tasksOf(owner, projectId)).toHaveLength(2)
})

test('another account changes imported tasks, but not the text of comments', async () => {
  const { owner, other, projectId } = await openShared('ADMIN')
  const file = (title: string, text: string) => [task('1', { title }), comment('1', text, { key: 'c' })]
  await importItems(owner, projectId, file('A', 'One'))
  const { counts } = await importItems(other, projectId, file('B', 'One'))
  expect(counts).toMatchObject({ updated: 1 })
  const { lines } = await importItems(other, projectId, file('B', 'Two'))
  expect(lines.map(({ message }) => message)).toEqual(['The comment: Only the author may edit a comment'])
})

test('an EDITOR cannot undo the import of another account that has comments, but an ADMIN can', async () => {
  const { owner, other, projectId } = await openShared()
  const { id } = await importItems(owner, projectId, items)
  expect(await undo(other, id)).toMatchObject({ undoState: 'failed', undone: 0 })
  expect(await errorOf(id)).toMatch(/^Seq \d+: Only the author or an admin may delete a comment$/)
  expect(await tasksOf(owner, projectId)).toHaveLength(count)
  expect(await undo(owner, id)).toEqual(all)
  await expectNothing(owner, projectId)
})

test('an undo fails at the fields if the caller is no longer an ADMIN, and an undo of an ADMIN deletes them', async () => {
  const { owner, other, projectId, member } = await openShared('ADMIN')
  const { id } = await importItems(other, projectId, items)
  const demote = () => owner.patch(`${member}/role`, { role: 'EDITOR' })
  const half = await undo(other, id, fast, afterBatches(4, demote))
  expect(half).toEqual({ undoState: 'failed', undone: count, kept: 0, lines: [] })
  expect(await errorOf(id)).toMatch(/^Seq \d+: This needs the role ADMIN in the project$/)
  expect(await undo(owner, id)).toEqual(all)
  await expectNothing(owner, projectId)
})

test('the error of a failed import remains after an undo', async () => {
  const { owner, projectId } = await newProject()
  const { id } = await importItems(owner, projectId, items)
  await sql`update imports set state = 'failed', error = 'Row 10: broken' where id = ${id}`
  expect(await undo(owner, id)).toEqual(all)
  expect(await errorOf(id)).toBe('Row 10: broken')
})

test('the error of a failed undo replaces that of the import', async () => {
  const { owner, projectId } = await newProject()
  const { id } = await importItems(owner, projectId, items)
  const { owner: stranger } = await newProject()
  expect(await undo(stranger, id)).toMatchObject({ undoState: 'failed' })
  expect(await errorOf(id)).toBe(missing)
  await sql`update imports set undo_state = 'queued' where id = ${id}`
  await endLostImports(sql, fast)
  expect(await errorOf(id)).toBe('The worker failed at each attempt')
  expect(await undo(owner, id)).toEqual(all)
  expect(await errorOf(id)).toBe(null)
})
