import { make, type Person, runBatch, type Sql, upTo, versionOf } from '../kit.ts'

/** Inserts tasks, and at most 200,000 events, so that the test notices a plan that reads the whole log. */
export async function fill(sql: Sql, projectId: string, count: number, ownerId: string): Promise<void> {
  await sql`insert into tasks
      (id, project_id, number, title, status, priority, due_date, assignee_id, created_at, updated_at, event_id)
    select uuidv7(), ${projectId}, n, 'Task ' || n,
      case when n % 1000 = 0 then 'TODO' when n % 100 = 0 then 'IN_PROGRESS' else 'DONE' end,
      case when n % 7000 = 0 then 'HIGH' when n % 3 = 0 then 'MEDIUM' else 'LOW' end,
      case when n % 2 = 0 then '2026-01-01'::timestamptz + n * interval '1 minute' end,
      case when n % 4 < 2 then ${ownerId}::uuid end, now(), now(), uuidv7()
    from generate_series(1, ${count}::int) n`
  await sql`insert into events
      (project_id, seq, id, type, entity, entity_id, actor_id, at, after, task_id)
    select project_id, number + 1, event_id, 'task.created', 'task', id, ${ownerId}, created_at,
      jsonb_build_object('id', id, 'title', title), id
    from tasks where project_id = ${projectId} and number > ${count - 200_000}`
  await sql`update streams set version = version + ${count}, last_number = ${count},
      last_event_id = (select id from events where project_id = ${projectId} order by seq desc limit 1)
    where project_id = ${projectId}`
}

/** Changes a task and its subtask a thousand times. Returns the task, and the version before the changes. */
export async function changeOften(user: Person, projectId: string) {
  const task = await make(user, '/tasks', { title: 'Often', projectId })
  const { id: subtaskId } = await make(user, `/tasks/${task.id}/subtasks`, { title: 'Done, not done' })
  const version = await versionOf(user, projectId)
  for (const batch of upTo(4)) {
    const change = (n: number) => ({ op: 'task.update', id: task.id, title: `${batch} ${n}` })
    const toggle = { op: 'subtask.toggle', id: subtaskId }
    await runBatch(
      user,
      projectId,
      upTo(250).map((n) => (n % 2 ? change(n) : toggle)),
    )
  }
  return { version, often: task.id }
}
