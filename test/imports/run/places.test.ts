import { gzipSync } from 'node:zlib'
import type { Reader } from '../../../modules/imports/readers/reader.ts'
import { openLargeFiles } from '../../../workers/imports/file.ts'
import { openRunImport } from '../../../workers/imports/run-import.ts'
import { SliceEnded, until } from '../../kit.ts'
import { task } from './items.ts'
import { fileOf, openRunScene } from './scene.ts'

const { newProject, queue, work, execute, resultOf, services, sql, client: _ } = await openRunScene()
const file = fileOf([task('1')])
const throttle = { batchRows: 500, pauseMs: 0 }

/** A reader that returns no item, and reads the file repeatedly. */
const endless: Reader = async function* ({ open }) {
  for (;;) for await (const part of open()) if (part.length === 0) yield task('0')
}
const runEndlessly = openRunImport(services, { readers: { planka: endless } })

async function startEndless(content: string | Uint8Array = file, run = runEndlessly) {
  const { owner, projectId } = await newProject()
  const id = await queue(owner, projectId, content)
  const working = work(id, throttle, run)
  expect(await until(async () => (await resultOf(id)).state === 'running' || undefined, 10_000)).toBe(true)
  return { owner, id, working }
}

test('a cancelled import ends, even if its reader returns no item', async () => {
  const { owner, id, working } = await startEndless()
  await owner.delete(`/imports/${id}`)
  await working
  expect(await resultOf(id)).toMatchObject({ state: 'cancelled' })
})

test('an import waits for an older import of its account, but not for imports of other accounts', async () => {
  const { owner, id, working } = await startEndless()
  const { projectId } = await newProject()
  const newer = await queue(owner, projectId, file, { dryRun: true })
  expect(execute({ importId: newer }, throttle)).rejects.toBeInstanceOf(SliceEnded)
  const { owner: other, projectId: otherId } = await newProject()
  const ofOther = await queue(other, otherId, file)
  await work(ofOther)
  expect(await resultOf(ofOther)).toMatchObject({ state: 'done' })
  expect(await resultOf(newer)).toMatchObject({ state: 'queued' })
  await owner.delete(`/imports/${id}`)
  await working
  await work(newer)
  expect((await resultOf(newer)).state).not.toBe('queued')
})

test('a worker reads one large file at a time, and reads small files meanwhile', async () => {
  let largeFiles = 0
  const endlessIfLarge: Reader = async function* (input) {
    let bytes = 0
    for await (const part of input.open()) bytes += part.length
    if (bytes < 1_000) return yield task('1')
    largeFiles++
    yield* endless(input)
  }
  const untilRead = (count: number) => until(async () => largeFiles === count || undefined, 10_000)
  const run = openRunImport(services, { readers: { planka: endlessIfLarge } })
  const large = gzipSync(Buffer.alloc(9_000_000))
  const first = await startEndless(large, run)
  await untilRead(1)
  const others = await Promise.all(
    [large, large, file].map(async (content) => {
      const { owner, projectId } = await newProject()
      return queue(owner, projectId, content)
    }),
  )
  const runOnce = (importId: string) => run({ importId }, throttle).catch((error: SliceEnded) => error)
  const [second, third, small] = await Array.fromAsync(others, runOnce)
  for (const waiting of [second, third]) expect(waiting).toMatchObject({ delayMs: 1_000 })
  expect(small).toBeUndefined()
  expect(largeFiles).toBe(1)
  await first.owner.delete(`/imports/${first.id}`)
  await first.working
  const next = work(others[0]!, throttle, run)
  expect(await untilRead(2)).toBe(true)
  await sql`update imports set state = 'cancelled' where id = ${others[0]!}`
  await next
})

test('a parser that reads after the end of its import does not block other imports', () => {
  const { begin } = openLargeFiles()
  const large = 9_000_000
  const reading = begin('a')
  reading.admit(large)
  for (const bytes of [large, 0]) expect(() => begin('b').admit(bytes)).toThrow(SliceEnded)
  reading.end()
  expect(() => reading.admit(large)).toThrow(SliceEnded)
  begin('b').admit(large)
})
