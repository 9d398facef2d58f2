import { type Body, clockShiftedBy, eventually, faultsOf, openWebs, type Person, upTo } from '../kit.ts'
import { claimNext, createQueue } from './claim-scene.ts'

const claimIn = (body: Body) => (body as Body & { claim: { seq: number } }).claim

/** The events of a project, with the claim that each comment named in its header. */
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
  const webs = await openWebs([{}, clockShiftedBy(-7_200_000), clockShiftedBy(60_000)], { WRITE_SHARDS: '2' })
  const [first, ...others] = webs.people
  const projectId = await createQueue(first!, 3)
  let isRunning = true

  async function work(person: Person, n: number): Promise<void> {
    for (let round = n; isRunning; round++) {
      const claimed = await claimNext(person, projectId, { wait: 2 }).catch(() => null)
      if (claimed === null) return
      if (claimed.status !== 200) continue
      const { id, ...body } = claimed.body
      const headers = { 'docket-if-claim': `${id} ${claimIn(body as Body).seq}` }
      const write = (path: string, content?: object, method = 'POST') =>
        person.call(method, `/tasks/${id}${path}`, content, headers).catch(() => null)
      const comment = () => write('/comments', { text: String(claimIn(body as Body).seq) })
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

  const events = () => webs.sql<Logged[]>`
    select type, task_id, at, after from events where project_id = ${projectId} order by seq`
  const counts = async () => {
    const all = await events()
    return (type: string) => all.filter((event) => event.type === type).length
  }
  const workers = [first!, ...others].flatMap((person, n) => upTo(3).map((i) => work(person, n + i)))
  await eventually('thirty comments', async () => (await counts())('comment.created') >= 30)
  await webs.webs[0]!.stop('SIGKILL')
  await eventually('ends of abandoned claims', async () => (await counts())('task.claim_expired') >= 3)
  const before = (await counts())('comment.created')
  await eventually('more comments', async () => (await counts())('comment.created') >= before + 9)
  isRunning = false
  await Promise.all(workers)
  expect(unheld(await events())).toEqual([])
  expect(await faultsOf(webs.sql)).toEqual([])
})
