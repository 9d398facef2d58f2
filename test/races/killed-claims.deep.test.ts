import {
  type Body,
  clockShiftedBy,
  eventually,
  faultsOf,
  make,
  openWebs,
  type Person,
  runBatch,
} from '../kit.ts'
import { upTo } from '../kit.ts'

/** The events of a project; each comment contains the claim of its header. */
interface Logged {
  type: string
  taskId: string
  at: string
  after: { claimSeq?: number | null; claimedUntil?: string | null; text?: string } | null
}

/** Returns the comments that were written while another claim, or no claim, held their task. */
function unheld(events: Logged[]): Logged[] {
  const tasks = new Map<string, Logged['after']>()
  return events.filter(({ type, taskId, at, after }) => {
    if (type.startsWith('task.')) tasks.set(taskId, after)
    const task = tasks.get(taskId)
    return type === 'comment.created' && !(String(task?.claimSeq) === after?.text && at < task!.claimedUntil!)
  })
}

/** The rate at which a worker writes under a claim that it has abandoned. A claim lasts ten seconds. */
const commentEveryMs = 20

test('no two workers write under claims of one task, also with a killed process and clocks apart', async () => {
  const shifted = [{}, clockShiftedBy(-7_200_000), clockShiftedBy(60_000)]
  const { webs, people, sql } = await openWebs(shifted, { WRITE_SHARDS: '2' })
  const { id: projectId } = await make(people[0]!, '/projects', { name: 'Queue' })
  await runBatch(
    people[0]!,
    projectId,
    upTo(3).map((n) => ({ op: 'task.create', title: `T${n}` })),
  )
  let isRunning = true

  async function work(person: Person, n: number): Promise<void> {
    for (let round = n; isRunning; round++) {
      const body = { leaseSeconds: 10, wait: 2 }
      const claimed = await person.post(`/projects/${projectId}/claim-next`, body).catch(() => null)
      if (claimed === null) return
      if (claimed.status !== 200) continue
      const { id, claim } = claimed.body as Body & { claim: { seq: number } }
      const headers = { 'docket-if-claim': `${id} ${claim.seq}` }
      const write = (path: string, content?: object, method = 'POST') =>
        person.call(method, `/tasks/${id}${path}`, content, headers).catch(() => null)
      const comment = () => write('/comments', { text: String(claim.seq) })
      for (const _ of upTo(3)) await comment()
      if (round % 3 === 0) await write('/release')
      if (round % 3 === 1) await write('', { status: 'DONE' }, 'PATCH')
      // Reopens the task without the claim, which has ended.
      if (round % 3 === 1) await person.patch(`/tasks/${id}`, { status: 'TODO' }).catch(() => null)
      // Abandons the claim: another worker takes the task while this worker still writes.
      if (round % 3 === 2)
        while (isRunning && (await comment())?.status === 201) await Bun.sleep(commentEveryMs)
    }
  }

  const events = () => sql<Logged[]>`
    select type, task_id, at, after from events where project_id = ${projectId} order by seq`
  const count = async (type: string) => (await events()).filter((event) => event.type === type).length
  const workers = people.flatMap((person, n) => upTo(3).map((i) => work(person, n + i)))
  await eventually('thirty comments', async () => (await count('comment.created')) >= 30)
  await webs[0]!.stop('SIGKILL')
  await eventually('ends of abandoned claims', async () => (await count('task.claim_expired')) >= 3)
  const before = await count('comment.created')
  await eventually('more comments', async () => (await count('comment.created')) >= before + 9)
  isRunning = false
  await Promise.all(workers)
  expect(unheld(await events())).toEqual([])
  expect(await faultsOf(sql)).toEqual([])
})
