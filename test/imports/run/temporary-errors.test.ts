import { expect, test } from 'bun:test'
import type { ImportedItem } from '../../../modules/imports/items.ts'
import type { Services } from '../../../src/services.ts'
import { connectionError } from '../../../src/postgres/errors.ts'
import type { Sql } from '../../../src/postgres/database.ts'
import { openRunImport } from '../../../workers/imports/run-import.ts'
import { openUndoImport } from '../../../workers/imports/undo-import.ts'
import { upTo } from '../../races/pair.ts'
import { comment, subtask, task } from './items.ts'
import { fast, fileOf, lineReader, openRunScene, tasksOf } from './scene.ts'

const { newProject, queue, work, undo, resultOf, services, client: _ } = await openRunScene()

const items: ImportedItem[] = [
  { kind: 'field', row: 1, key: 'size', name: 'Size', type: 'number' },
  ...upTo(4).flatMap((n) => [
    task(String(n), { labels: [`label ${n}`], fields: { size: n }, ...(n > 1 && { blockedBy: ['1'] }) }),
    subtask(String(n), 'Measure'),
    comment(String(n), 'Oil it'),
  ]),
]

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
  expect(failing.failed.size).toBeGreaterThan(20)
  expect(await resultOf(id)).toMatchObject({ state: 'done', counts: { created: 4, rejected: 0 }, lines: [] })
  const before = failing.failed.size
  const result = await undo(owner, id, fast, openUndoImport(failing.services))
  expect(result).toEqual({ undoState: 'done', undone: 4, kept: 0, lines: [] })
  expect(failing.failed.size).toBeGreaterThan(before + 4)
  expect(await tasksOf(owner, projectId)).toEqual([])
})
