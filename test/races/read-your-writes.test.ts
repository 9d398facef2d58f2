import { expect, test } from 'bun:test'
import { make, type Person } from '../support/client.ts'
import { purgeProject } from '../../workers/cascade.ts'
import { startLoad } from './load.ts'
import { openPair, upTo } from './pair.ts'
import { forFile } from '../support/service.ts'

const pair = await forFile(openPair())
const project = await make(pair.atA, '/projects', { name: 'Busy' })

async function underLoad(work: () => Promise<void>): Promise<void> {
  const load = startLoad({ clients: [pair.atA, pair.atB], projectIds: [project.id], writers: 8 })
  await load.acknowledged(20)
  await work().finally(() => load.stop())
}

/** One person's steps: every write at one process is seen by the read at the other that follows it. */
async function steps(here: Person, there: Person, rounds: number): Promise<void> {
  const projectId = project.id
  for (const n of upTo(rounds)) {
    const task = await make(here, '/tasks', { title: 'Fresh', projectId })
    expect((await there.get(`/tasks/${task.id}`)).body).toEqual(task)
    expect((await there.get(`/tasks?projectId=${projectId}&sort=-createdAt&limit=200`)).text).toContain(
      task.id,
    )

    const path = `/tasks/${task.id}`
    await here.patch(path, { title: `Changed ${n}`, status: 'DONE' })
    expect((await there.get(path)).body).toMatchObject({ title: `Changed ${n}`, status: 'DONE' })

    const subtask = await make(here, `${path}/subtasks`, { title: 'Sub' })
    expect((await there.get(`${path}/subtasks`)).body).toEqual([subtask] as never)
    const comment = await make(here, `${path}/comments`, { text: 'Words' })
    expect((await there.get(`${path}/comments`)).body).toEqual([comment] as never)

    await here.delete(path)
    expect((await there.get(path)).status).toBe(404)
  }
}

test('a read at one process sees every write that the other has acknowledged before', async () => {
  await underLoad(async () => {
    await Promise.all(upTo(4).flatMap(() => [steps(pair.atA, pair.atB, 8), steps(pair.atB, pair.atA, 8)]))
  })
})

test('a read with the ETag of before the write is never told that nothing changed', async () => {
  const { atA, atB } = pair
  const task = await make(atA, '/tasks', { title: 'Tagged', projectId: project.id })
  const paths = [`/tasks/${task.id}`, `/tasks?projectId=${project.id}&limit=1`]
  await underLoad(async () => {
    for (const n of upTo(25)) {
      const before = await Promise.all(paths.map((path) => atB.get(path)))
      await atA.patch(`/tasks/${task.id}`, { title: `Tagged ${n}` })
      for (const [i, path] of paths.entries()) {
        const after = await atB.get(path, { 'if-none-match': before[i]!.headers.get('etag') ?? '' })
        expect(after.status).toBe(200)
      }
      expect((await atB.get(paths[0]!)).body.title).toBe(`Tagged ${n}`)
    }
  })
})

test('a project that was deleted, and is purged to its last row, is gone where it was just seen', async () => {
  const { atA, atB, sql } = pair
  const { id: projectId } = await make(atA, '/projects', { name: 'Passing' })
  const task = await make(atA, '/tasks', { title: 'Passing', projectId })
  const paths = [`/projects/${projectId}`, `/tasks/${task.id}`, `/tasks?projectId=${projectId}`]
  for (const path of paths) expect((await atB.get(path)).status).toBe(200)
  await atA.delete(`/projects/${projectId}`)
  await purgeProject(sql, projectId, { batchRows: 100, pauseMs: 0 })
  for (const path of paths) expect((await atB.get(path)).status).toBe(404)
})
