import { gzipSync } from 'node:zlib'
import { expect, test } from 'bun:test'
import type { Services } from '../../../src/services.ts'
import { connectionError } from '../../../src/postgres/errors.ts'
import type { Sql } from '../../../src/postgres/database.ts'
import { openRunImport } from '../../../workers/imports/run-import.ts'
import { openUndoImport } from '../../../workers/imports/undo-import.ts'
import { endLostImports } from '../../../workers/imports/remove.ts'
import { unavailable } from '../../../src/responses/errors.ts'
import type { Caller } from '../../../src/identity/rights.ts'
import { invite, makeToken } from '../../support/client.ts'
import { upTo } from '../../races/pair.ts'
import { comment, subtask, task } from './items.ts'
import { fast, fileOf, lineReader, openRunScene, tasksOf } from './scene.ts'

const scene = await openRunScene(3)
const { client: _, newProject, importItems, resultOf, queue, work, undo, services, sql } = scene

const items = upTo(10).flatMap((n) => [
  task(String(n), { labels: [`label ${n}`], ...(n > 1 && { blockedBy: [String(n - 1)] }) }),
  subtask(String(n), 'Measure'),
  comment(String(n), 'Oil it'),
])
const created = { read: 10, created: 10, updated: 0, unchanged: 0, rejected: 0 }

/** Ends the slice after each batch, as a stopping worker does. */
const perBatch = { batchRows: 500, pauseMs: 0, isOver: () => true, isStopping: () => false }

async function rowsOf(projectId: string) {
  const [row] = await sql<{ tasks: number; subtasks: number; comments: number; links: number }[]>`
    select count(*)::int4 as tasks, count(t.blocked_by_ids)::int4 as links,
      (select count(*)::int4 from subtasks s join tasks t on t.id = s.task_id where t.project_id = ${projectId}) as subtasks,
      (select count(*)::int4 from comments c join tasks t on t.id = c.task_id where t.project_id = ${projectId}) as comments
    from tasks t where t.project_id = ${projectId}`
  return { ...row! }
}
const all = { tasks: 10, subtasks: 10, comments: 10, links: 9 }

test('continues after each batch without duplicates, and deletes the file at the end', async () => {
  const { owner, projectId } = await newProject()
  const id = await queue(owner, projectId, fileOf(items))
  const slices = await work(id, perBatch)
  expect(slices).toBeGreaterThan(10)
  expect(await resultOf(id)).toMatchObject({ state: 'done', counts: created, lines: [] })
  expect(await rowsOf(projectId)).toEqual(all)
  for (const table of ['import_items', 'import_chunks'])
    expect(await sql`select from ${sql(table)} where import_id = ${id}`).toHaveLength(0)
  expect(await sql`select from import_batches where import_id = ${id}`).not.toHaveLength(0)
})

test('a batch whose outcome was not stored runs again without duplicates', async () => {
  const { owner, projectId } = await newProject()
  const id = await queue(owner, projectId, fileOf(items))
  // The worker is killed between the commit of each batch and the transaction that stores its outcome.
  let calls = 0
  const failing = openRunImport(
    {
      ...services,
      runHere: async (request) => {
        const reply = await services.runHere(request)
        if (calls++ % 2 === 0) throw unavailable('killed')
        return reply
      },
    },
    { readers: { planka: lineReader }, batchRows: 3 },
  )
  await work(id, { batchRows: 500, pauseMs: 0, isStopping: () => true }, failing)
  expect(calls).toBeGreaterThan(9)
  expect(await resultOf(id)).toMatchObject({ state: 'done', counts: created, lines: [] })
  expect(await rowsOf(projectId)).toEqual(all)
})

/** Runs an import, and `change` after its first tasks. */
async function changedAfterTasks(id: string, change: () => Promise<unknown>) {
  const run = openRunImport(services, { readers: { planka: lineReader }, batchRows: 3 })
  let isChanged = false
  await work(id, perBatch, async (data, throttle) => {
    const [row] = await sql<{ created: number }[]>`select created from imports where id = ${id}`
    if (row!.created > 0 && !isChanged) {
      isChanged = true
      await change()
    }
    await run(data, throttle)
  })
  expect(isChanged).toBe(true)
  return resultOf(id)
}

test('a cancelled import keeps and counts what it committed', async () => {
  const { owner, projectId } = await newProject()
  const id = await queue(owner, projectId, fileOf(items))
  const result = await changedAfterTasks(id, () => owner.delete(`/imports/${id}`))
  expect(result).toMatchObject({ state: 'cancelled', counts: { read: 10, created: 3 } })
  expect((await rowsOf(projectId)).tasks).toBe(3)
  expect(await sql`select from import_items where import_id = ${id}`).toHaveLength(0)
})

test('fails if the caller loses the role, and keeps what was committed', async () => {
  const { owner, projectId } = await newProject()
  const { owner: editor } = await newProject()
  const { id: memberId } = await invite(owner, projectId, editor, 'EDITOR')
  const id = await queue(editor, projectId, fileOf(items))
  const path = `/projects/${projectId}/members/${memberId}/role`
  const result = await changedAfterTasks(id, () => owner.patch(path, { role: 'VIEWER' }))
  expect(result).toMatchObject({ state: 'failed', counts: { created: 3 } })
  expect(result.error).toBe('This needs the role EDITOR in the project')
})

test('fails if the project is deleted', async () => {
  const { owner, projectId } = await newProject()
  const id = await queue(owner, projectId, fileOf(items))
  const result = await changedAfterTasks(id, () => owner.delete(`/projects/${projectId}`))
  expect(result).toMatchObject({ state: 'failed', counts: { created: 3 } })
  expect(result.error).toBe('The project was deleted, or the account is no longer its member')
})

test('an import does not overwrite changes that others make meanwhile', async () => {
  const { owner, projectId } = await newProject()
  const id = await queue(owner, projectId, fileOf(items))
  const result = await changedAfterTasks(id, async () => {
    const [first] = await tasksOf(owner, projectId)
    await owner.patch(`/tasks/${first!.id}`, { title: 'Changed' })
    await owner.delete(`/tasks/${(await tasksOf(owner, projectId))[1]!.id}`)
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

test.each<[string, string | Uint8Array, RegExp]>([
  ['a broken archive', gzipSync('x'.repeat(5_000)).subarray(0, 20), /gzip archive is broken/],
  ['an unexpected error of the reader', '{"kind":', /^The file cannot be read: /],
])('%s ends the import as failed, and changes nothing', async (_, file, error) => {
  const { owner, projectId } = await newProject()
  const id = await queue(owner, projectId, file)
  await work(id)
  const result = await resultOf(id)
  expect([result.state, result.counts.created]).toEqual(['failed', 0])
  expect(result.error).toMatch(error)
})

test('an import whose job is lost ends as failed', async () => {
  const { owner, projectId } = await newProject()
  const id = await queue(owner, projectId, fileOf(items))
  await endLostImports(sql, { batchRows: 10, pauseMs: 0 })
  expect(await resultOf(id)).toMatchObject({ state: 'failed', error: 'The worker failed at each attempt' })
})

test('an import fails if its API token is deleted', async () => {
  const { owner, projectId } = await newProject()
  const { id: tokenId } = await makeToken(owner)
  const caller: Caller = { userId: owner.id, token: { id: tokenId, scope: 'write', projects: null } }
  const id = await queue(owner, projectId, fileOf(items), { caller })
  const result = await changedAfterTasks(id, () => owner.delete(`/tokens/${tokenId}`))
  expect(result).toMatchObject({ state: 'failed', counts: { created: 3 } })
  expect(result.error).toBe('The API token of the request was deleted, or has expired')
})

test('an import in a step of the previous release reads the file again, and creates nothing twice', async () => {
  const { owner, projectId } = await newProject()
  await importItems(owner, projectId, items.slice(0, 9))
  const id = await queue(owner, projectId, fileOf(items))
  const cursor = JSON.stringify({ step: 'subtasks', n: 7 })
  await sql`update imports set state = 'running', created = 5, cursor = ${cursor}::text::jsonb where id = ${id}`
  await work(id)
  expect(await resultOf(id)).toMatchObject({
    ...{ state: 'done', lines: [] },
    counts: { read: 10, created: 7, updated: 0, unchanged: 3, rejected: 0 },
  })
  expect(await rowsOf(projectId)).toEqual(all)
})

interface SentQuery {
  handler: (query: SentQuery) => unknown
  reject(error: Error): void
}

/** Each statement of the worker fails when it is sent for the first time. */
function failingOnce(): { services: Services; failed: Set<unknown> } {
  const failed = new Set<unknown>()
  const background = new Proxy(services.database.background, {
    apply(target, self, [strings, ...values]) {
      const query = Reflect.apply(target, self, [strings, ...values]) as SentQuery
      if (!strings.raw || failed.has(strings)) return query
      const { handler } = query
      query.handler = (sent) => {
        if (failed.has(strings)) return handler(sent)
        failed.add(strings)
        query.reject(connectionError('CONNECTION_CLOSED', 'The connection was closed'))
      }
      return query
    },
  }) as Sql
  return { services: { ...services, database: { ...services.database, background } }, failed }
}

test('an import and its undo continue after temporary errors of all their statements', async () => {
  const { owner, projectId } = await newProject()
  const id = await queue(owner, projectId, fileOf(items))
  const failing = failingOnce()
  const slices = await work(id, fast, openRunImport(failing.services, { readers: { planka: lineReader } }))
  // Some statements are sent together, so they fail in the same slice.
  expect(slices).toBeGreaterThan(failing.failed.size - 3)
  expect(failing.failed.size).toBeGreaterThan(15)
  expect(await resultOf(id)).toMatchObject({ state: 'done', counts: created, lines: [] })
  const before = failing.failed.size
  const result = await undo(owner, id, fast, openUndoImport(failing.services))
  expect(result).toEqual({ undoState: 'done', undone: 10, kept: 0, lines: [] })
  expect(failing.failed.size).toBeGreaterThan(before + 4)
  expect(await tasksOf(owner, projectId)).toEqual([])
})
