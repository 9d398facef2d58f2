import { createTask } from '../../modules/tasks/commands.ts'
import type { QueuedCommand } from '../../src/actor/queued-command.ts'
import { decide } from '../../src/commands/decide.ts'
import { type Body, make, openScene, register } from '../kit.ts'
import { queuedCommand } from '../support/queued-command.ts'

let [project, other]: Body[] = []
const { service, ada } = await openScene(['Ada'])
project = await make(ada, '/projects', { name: 'Engine' })
other = await make(ada, '/projects', { name: 'Mill' })

const sql = () => service.services.database.background
const tasksOf = () => sql()<{ type: string; taskId: string | null }[]>`
  select type, task_id from events where project_id in (${project!.id}, ${other!.id}) order by id`

async function live(): Promise<string> {
  const bea = await register(service.client)
  await make(ada, `/projects/${project!.id}/members/invite`, { email: bea.email })
  const task = await make(ada, '/tasks', { title: 'Draw', projectId: project!.id })
  const subtask = await make(ada, `/tasks/${task.id}/subtasks`, { title: 'Sharpen' })
  const comment = await make(ada, `/tasks/${task.id}/comments`, { text: 'Oil it' })
  await ada.patch(`/tasks/${task.id}`, { status: 'DONE' })
  await ada.patch(`/tasks/subtasks/${subtask.id}/toggle`)
  await ada.patch(`/tasks/comments/${comment.id}`, { text: 'Oil it well' })
  await ada.patch(`/tasks/${task.id}`, { projectId: other!.id })
  await ada.delete(`/tasks/subtasks/${subtask.id}`)
  await ada.delete(`/tasks/comments/${comment.id}`)
  await ada.delete(`/tasks/${task.id}`)
  return task.id
}

test('events store the id of their task', async () => {
  const id = await live()
  const aboutNone = ['project.created', 'project.created', 'member.invited']
  const events = await tasksOf()
  expect(events.filter(({ taskId }) => taskId === null).map(({ type }) => type)).toEqual(aboutNone)
  expect(events.filter(({ taskId }) => taskId === id)).toHaveLength(11)
  expect(events).toHaveLength(11 + aboutNone.length)
})

const creating = (titles: string[], isBatch: boolean): QueuedCommand<undefined> =>
  queuedCommand(ada.id, {
    projectId: project!.id,
    decide(state, context) {
      const known = { ...context, limits: { projectMembers: 1, projectWebhooks: 100 } }
      const input = (title: string) => ({ projectId: project!.id, title })
      const decisions = titles.map((title) => decide(createTask, state, known, input(title)))
      const changes = decisions.flatMap(({ changes }) => changes)
      const numbered = changes.map((change, i) => {
        const number = state.lastNumber + 1 + i
        return { ...change, after: { ...change.after!, number } } as typeof change
      })
      return { changes: numbered, answer: undefined, isBatch }
    },
  })

test("each event of a batch stores the seq of the batch's first event; an event of a single command stores null", async () => {
  const { actors } = service.services
  const commands = [creating(['a'], false), creating(['b', 'c'], true), creating(['d', 'e'], false)]
  await Promise.all([...commands, creating(['f', 'g', 'h'], true)].map((command) => actors.run(command)))
  const events = await sql()<{ title: string; first: number | null }[]>`
    select after ->> 'title' as title, (batch - min(seq) filter (where after ->> 'title' = 'a') over ())::int4 as first
    from events where project_id = ${project!.id} and after ->> 'title' in ${sql()([...'abcdefgh'])}
    order by seq`
  const batches = events.map(({ title, first }) => `${title} ${first}`)
  expect(batches).toEqual(['a null', 'b 1', 'c 1', 'd null', 'e null', 'f 5', 'g 5', 'h 5'])
})
