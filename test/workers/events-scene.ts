import { type Answer, eventually, make, openForEach, openTestService, register, runBatch } from '../kit.ts'

/** Tasks of a project, and the events that a worker records for them. */
export interface Watched {
  projectId: string
  ids: string[]
  types: string[]
  /** Makes the events due. */
  happen: () => Promise<unknown>
}

/** Opens services whose workers record that tasks are due, reminded, no longer claimed, or ready. */
export function openEventScenes() {
  const forEach = openForEach()
  return async (env: Record<string, string> = {}) => {
    const service = await forEach(openTestService(env))
    const ada = await register(service.client)
    const sql = service.services.database.background
    const done = (id: string) => ada.patch(`/tasks/${id}`, { status: 'DONE' })

    /** Creates tasks with a blocker. `happen` closes the blocker. */
    async function createBlocked(tasks: number): Promise<Watched & { blocker: string }> {
      const { id: projectId } = await make(ada, '/projects', { name: 'Blocked' })
      const { id: blocker } = await make(ada, '/tasks', { projectId, title: 'Blocker' })
      const one = { op: 'task.create', title: 'T', blockedByIds: [blocker] }
      const ids = (await runBatch(ada, projectId, Array(tasks).fill(one))).map(({ id }) => id)
      return { projectId, blocker, ids, types: ['task.ready'], happen: () => done(blocker) }
    }

    /** Creates tasks, each with a reminder, a due date and a claim that end soon. `happen` waits for these times. */
    async function createTimed(tasks: number): Promise<Watched> {
      const { id: projectId } = await make(ada, '/projects', { name: 'Timed' })
      let [at, answer] = ['', {} as Answer]
      // If the batch takes longer, the times are later.
      for (let ms = 1_000; answer.status !== 200; ms *= 2) {
        at = new Date(Date.now() + ms).toISOString()
        const one = { op: 'task.create', title: 'Wind the clock', remindAt: at, dueDate: at }
        answer = await ada.post(`/projects/${projectId}/batch`, { operations: Array(tasks).fill(one) })
      }
      const ids = (answer.body as unknown as { results: { id: string }[] }).results.map(({ id }) => id)
      for (const id of ids) {
        // The API allows no lease as short as this.
        const claim = { name: 'task.claim', input: { id, leaseSeconds: 0.5 }, caller: { userId: ada.id } }
        await service.services.run(claim)
      }
      const isPassed = async () => {
        const [row] = await sql<{ isPassed: boolean }[]>`
          select now() > greatest(max(claimed_until), ${at}::text::timestamptz) as is_passed from tasks
          where project_id = ${projectId}`
        return row!.isPassed
      }
      const types = ['task.claim_expired', 'task.due', 'task.reminded']
      return { projectId, ids, types, happen: () => eventually('the times', isPassed) }
    }

    /** The events of the workers in a project, as `type id`. */
    const recorded = async ({ projectId, types }: Watched) => {
      const rows = await sql<{ event: string }[]>`
        select type || ' ' || entity_id as event from events where project_id = ${projectId} and type = any(${types})
        order by type, entity_id`
      return rows.map(({ event }) => event)
    }
    const expected = ({ ids, types }: Watched) =>
      types.flatMap((type) => ids.toSorted().map((id) => `${type} ${id}`))

    return {
      ...{ forEach, service, ada, sql, done, createBlocked, recorded },
      create: (kind: string, tasks: number) => (kind === 'timed' ? createTimed : createBlocked)(tasks),
      /** Waits until workers have recorded the events of these projects, each once. */
      async untilRecorded(...all: Watched[]): Promise<void> {
        for (const one of all) {
          await eventually('the events', async () => (await recorded(one)).length >= expected(one).length)
          expect(await recorded(one)).toEqual(expected(one))
        }
      },
    }
  }
}
