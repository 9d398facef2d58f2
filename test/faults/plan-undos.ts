import { aboutProject, plan, type Planner } from './plan.ts'
import { readHistory } from './plan-projects.ts'
import type { Random } from './random.ts'
import type { Undo } from './undoing.ts'
import { dropFrom, type KnownEvent, type KnownProject, type World } from './world.ts'

const mostSeqs = 4

export const undo: Planner = (world, random) => {
  const project = world.project(random)
  const body = someOf(project.recent, random)
  if (!body) return readHistory(world, random)
  const caller = random.chance(0.7) ? project.owner : world.caller(project, random)
  const isDry = random.chance(0.15)
  const path = `/projects/${project.id}/undo${isDry ? '?dryRun=true' : ''}`
  return plan('undo', `POST ${path}`, caller, aboutProject(project), {
    body: { ...body },
    learn(answer) {
      const { changes } = answer as unknown as { changes: KnownEvent[] }
      for (const change of isDry ? [] : changes) learnUndone(world, project, change)
    },
  })
}

/** A change, what one request did, several changes, what is gone, or an undo, to do it again. */
function someOf(recent: KnownEvent[], random: Random): Undo | undefined {
  const one = (of: KnownEvent[]): Undo | undefined => {
    const event = random.pick(of)
    return event && { seq: event.seq }
  }
  const kinds: Record<string, () => Undo | undefined> = {
    any: () => one(recent),
    newest: () => one(recent.slice(0, 1)),
    gone: () => one(recent.filter(({ after }) => !after)),
    again: () => one(recent.filter(({ undoes }) => undoes)),
    batch: () => {
      const event = random.pick(recent.filter(({ batch }) => batch))
      return event && { batch: event.batch! }
    },
    several: () => {
      const some = random.shuffled(recent.slice(0, mostSeqs * 2)).slice(0, 2 + random.below(mostSeqs - 1))
      return some.length > 1 ? { seqs: some.map(({ seq }) => seq) } : undefined
    },
  }
  return kinds[random.weighted({ any: 3, newest: 2, gone: 3, again: 2, batch: 2, several: 2 })]!()
}

function learnUndone(
  world: World,
  project: KnownProject,
  { type, entityId, taskId, after }: KnownEvent,
): void {
  const task = project.tasks.find(({ id }) => id === taskId)
  const author = world.users.find(({ id }) => id === (after?.authorId ?? after?.userId))
  if (type === 'task.created' && !task) {
    project.tasks.push({ id: entityId, etag: null, subtasks: [], comments: [] })
  } else if (type === 'task.deleted' && task) dropFrom(project.tasks, task)
  else if (type === 'subtask.created') task?.subtasks.push(entityId)
  else if (type === 'comment.created' && author) task?.comments.push({ id: entityId, author })
  else if (type === 'member.invited' && author) project.members.push({ id: entityId, user: author })
  else if (type === 'member.removed') project.members = project.members.filter(({ id }) => id !== entityId)
}
