import { expect, test } from 'bun:test'
import { type Body, make } from '../support/client.ts'
import { faultsOf } from '../support/history.ts'
import { forFile } from '../support/service.ts'
import { openPair, statuses, upTo } from './pair.ts'

const pair = await forFile(openPair())
const clients = [pair.atA, pair.atB]

async function createTasks(count: number): Promise<string[]> {
  const { id: projectId } = await make(pair.atA, '/projects', { name: 'Ring' })
  const tasks = await Promise.all(
    upTo(count).map((n) => make(clients[n % 2]!, '/tasks', { title: `T${n}`, projectId })),
  )
  return tasks.map(({ id }) => id)
}

test('if concurrent writes at two processes would together form a cycle of blockers, the last write gets 409', async () => {
  for (const size of [2, 3, 12, 40]) {
    const ids = await createTasks(size)
    const answers = await Promise.all(
      ids.map((id, n) => clients[n % 2]!.patch(`/tasks/${id}`, { addBlockedByIds: [ids[(n + 1) % size]!] })),
    )
    expect(statuses(answers)).toEqual({ 200: size - 1, 409: 1 })
    const { message } = answers.find(({ status }) => status === 409)!.body
    expect(message.match(/#\d+ "T\d+"/g)).toHaveLength(Math.min(size + 1, 21))
  }
  expect(await faultsOf(pair.sql)).toEqual([])
})

test('random changes of blockers by many writers, with moves, deletions and undos, never form a cycle', async () => {
  const ids = await createTasks(12)
  const [{ projectId } = {} as Body] = [(await pair.atA.get(`/tasks/${ids[0]}`)).body]
  const { id: otherId } = await make(pair.atA, '/projects', { name: 'Other' })
  const pick = () => ids[Math.floor(Math.random() * ids.length)]!
  for (const _ of upTo(6)) {
    const answers = await Promise.all(
      upTo(40).map(async (n) => {
        const client = clients[n % 2]!
        if (n % 10 === 9) return client.delete(`/tasks/${pick()}`)
        if (n % 10 > 6)
          return client.patch(`/tasks/${pick()}`, { projectId: n % 10 === 7 ? projectId : otherId })
        return client.patch(`/tasks/${pick()}`, {
          [n % 4 ? 'addBlockedByIds' : 'removeBlockedByIds']: [pick()],
        })
      }),
    )
    for (const { status, text } of answers) if (![200, 400, 404, 409].includes(status)) throw new Error(text)
    const seqs = await pair.sql<{ seq: number }[]>`
      select seq::float8 as seq from events where project_id = ${projectId} and type = 'task.deleted' order by id`
    await Promise.all(seqs.map(({ seq }, n) => clients[n % 2]!.post(`/projects/${projectId}/undo`, { seq })))
    expect(await faultsOf(pair.sql)).toEqual([])
  }
})
