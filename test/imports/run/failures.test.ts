import postgres from 'postgres'
import { unavailable } from '../../../src/responses/errors.ts'
import { maxErrors, runSlice } from '../../../workers/imports/import-row.ts'
import { openRunImport } from '../../../workers/imports/run-import.ts'
import { openUndoImport } from '../../../workers/imports/undo-import.ts'
import { SliceEnded } from '../../kit.ts'
import { fast, fileOf, lineReader, openRunScene, task } from './scene.ts'

const { newProject, queue, work, undo, resultOf, services } = await openRunScene()

const postgresError = (code: string, message: string) =>
  Object.assign(Object.create(postgres.PostgresError.prototype), { code, severity: 'ERROR', message })

const ended = (error: unknown) =>
  runSlice('a', () => Promise.reject(error)).catch((caught: unknown) => caught)

test('a temporary error ends the slice, and a statement timeout or another error fails the attempt', async () => {
  const isLater = (reason: string) => ({ delayMs: 1_000, reason })
  expect(await ended(unavailable('Try later'))).toMatchObject(isLater('Try later'))
  const full = postgresError('53100', 'disk full')
  expect(await ended(full)).toMatchObject(isLater('53100: disk full'))
  for (const error of [postgresError('57014', 'canceling statement'), new Error('broken')])
    expect(await ended(error)).toBe(error)
})

/** Returns services whose commands with these numbers fail with a temporary error. */
function failing(isRejected: (n: number) => boolean) {
  let calls = 0
  const runHere: typeof services.runHere = (request) =>
    isRejected(++calls) ? Promise.reject(unavailable('Too many writes wait')) : services.runHere(request)
  return { ...services, runHere }
}

test('an import and an undo without progress fail after many temporary errors, with longer pauses', async () => {
  const { owner, projectId } = await newProject()
  const id = await queue(owner, projectId, fileOf([task('1'), task('2')]))
  // The first task is committed after all but one of the errors, and the second task never.
  const own = failing((n) => n !== maxErrors)
  const run = openRunImport(own, { readers: { planka: lineReader }, batchRows: 1 })
  const delays: number[] = []
  await work(id, fast, (data, throttle) =>
    run(data, throttle).catch((error: unknown) => {
      if (error instanceof SliceEnded) delays.push(error.delayMs)
      throw error
    }),
  )
  const error = `Each of ${maxErrors} attempts failed: Too many writes wait`
  expect(await resultOf(id)).toMatchObject({ state: 'failed', error, counts: { created: 1 } })
  expect(delays).toHaveLength(2 * (maxErrors - 1))
  for (const n of [0, maxErrors - 1])
    expect(delays.slice(n, n + 12)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10, 10].map((s) => s * 1_000))
  const neverUndone = openUndoImport(failing(() => true))
  expect(await undo(owner, id, fast, neverUndone)).toMatchObject({ undoState: 'failed' })
  expect(await undo(owner, id)).toMatchObject({ undoState: 'done', undone: 1 })
})
