import { claimTask } from '../../modules/work-queue/commands.ts'
import { type Answer, eventually, make, register, type TestService } from '../kit.ts'

const types = ['task.claim_expired', 'task.due', 'task.reminded']

export interface Timed {
  projectId: string
  ids: string[]
}

/** `createTimed` creates tasks in a new project, each with a reminder, a due date and a claim that end soon. */
export async function openTimes(service: TestService) {
  const ada = await register(service.client)
  const { run, database } = service.services
  const sql = database.background
  let last = ''

  async function createTasks(projectId: string, tasks: number): Promise<Answer> {
    // If the batch takes longer, the times are later.
    for (let ms = 1_000; ; ms *= 2) {
      last = new Date(Date.now() + ms).toISOString()
      const operations = Array.from({ length: tasks }, () => {
        return { op: 'task.create', title: 'Wind the clock', remindAt: last, dueDate: last }
      })
      const answer = await ada.post(`/projects/${projectId}/batch`, { operations })
      if (answer.status !== 400) return answer
    }
  }

  const timedEvents = async () => [
    ...(await sql<{ type: string; id: string }[]>`
    select type, entity_id as id from events where type = any(${types}) order by type, entity_id`),
  ]

  return {
    ...{ service, ada, sql, timedEvents },

    async createTimed(tasks: number): Promise<Timed> {
      const { id: projectId } = await make(ada, '/projects', { name: 'Timed' })
      const { body } = await createTasks(projectId, tasks)
      const { results } = body as unknown as { results: { id: string }[] }
      const ids = results.map(({ id }) => id)
      // The API allows no lease as short as this.
      for (const id of ids)
        await run({ name: claimTask.name, input: { id, leaseSeconds: 0.5 }, caller: { userId: ada.id } })
      return { projectId, ids }
    },

    untilPassed: () =>
      eventually('the times', async () => {
        const [row] = await sql<{ isPassed: boolean }[]>`
          select now() > greatest(max(claimed_until), ${last}::text::timestamptz) as is_passed from tasks`
        return row!.isPassed
      }),

    countTimed: async () => (await timedEvents()).length,
    countEarly: async () =>
      (
        await sql`select from events where type = any(${types})
          and at < coalesce(before->>'remindAt', before->>'claimedUntil', after->>'dueAfter')::timestamptz`
      ).length,
    expected: (projects: Timed[]) =>
      types.flatMap((type) =>
        projects
          .flatMap(({ ids }) => ids)
          .sort()
          .map((id) => ({ type, id })),
      ),
    untilRecorded: (projects: Timed[]) =>
      eventually('the events', async () => {
        const count = projects.reduce((sum, { ids }) => sum + ids.length, 0)
        return (await timedEvents()).length >= types.length * count
      }),
  }
}
