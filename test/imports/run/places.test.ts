import { expect, test } from 'bun:test'
import type { Reader } from '../../../modules/imports/readers/reader.ts'
import { openRunImport } from '../../../workers/imports/run-import.ts'
import { SliceEnded } from '../../../workers/throttle.ts'
import { until } from '../../../src/local/wait.ts'
import { task } from './items.ts'
import { fileOf, openRunScene } from './scene.ts'

const { newProject, queue, work, execute, resultOf, services, client: _ } = await openRunScene()
const file = fileOf([task('1')])
const throttle = { batchRows: 500, pauseMs: 0 }

/** Finds no item in the file, and reads it again and again. */
const endless: Reader = async function* ({ open }) {
  for (;;) for await (const part of open()) if (part.length === 0) yield task('0')
}
const runEndlessly = openRunImport(services, { known: { planka: endless } })

async function startEndless() {
  const { owner, projectId } = await newProject()
  const id = await queue(owner, projectId, file)
  const working = work(id, throttle, runEndlessly)
  expect(await until(async () => (await resultOf(id)).state === 'running' || undefined, 10_000)).toBe(true)
  return { owner, id, working }
}

test('a cancelled import ends, even if no item was found in its file', async () => {
  const { owner, id, working } = await startEndless()
  await owner.delete(`/imports/${id}`)
  await working
  expect(await resultOf(id)).toMatchObject({ state: 'cancelled' })
})

test('an import waits for an older one of the account, but not for those of others', async () => {
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
