import type { Undo } from './check-undos.ts'
import { aboutProject, plan, type Planner } from './plan.ts'
import { readHistory } from './plan-projects.ts'
import type { Random } from './random.ts'
import { removeFrom, type EventRef, type ProjectRef, type World } from './world.ts'

const maxSeqs = 4

export const undo: Planner = (world, random) => {
  const project = world.project(random)
  const body = randomTarget(project.recent, random)
  if (!body) return readHistory(world, random)
  const caller = random.chance(0.7) ? project.owner : world.caller(project, random)
  const isDryRun = random.chance(0.15)
  const path = `/projects/${project.id}/undo${isDryRun ? '?dryRun=true' : ''}`
  return plan('undo', `POST ${path}`, caller, aboutProject(project), {
    body: { ...body },
    onSuccess(response) {
      const { changes } = response as unknown as { changes: EventRef[] }
      for (const change of isDryRun ? [] : changes) applyUndo(world, project, change)
    },
  })
}

function randomTarget(recent: EventRef[], random: Random): Undo | undefined {
  const one = (of: EventRef[]): Undo | undefined => {
    const event = random.pick(of)
    return event && { seq: event.seq }
  }
  const kinds: Record<string, () => Undo | undefined> = {
    any: () => one(recent),
    newest: () => one(recent.slice(0, 1)),
    deletion: () => one(recent.filter(({ after }) => !after)),
    undo: () => one(recent.filter(({ undoes }) => undoes)),
    batch: () => {
      const event = random.pick(recent.filter(({ batch }) => batch))
      return event && { batch: event.batch! }
    },
    several: () => {
      const some = random.shuffled(recent.slice(0, maxSeqs * 2)).slice(0, 2 + random.below(maxSeqs - 1))
      return some.length > 1 ? { seqs: some.map(({ seq }) => seq) } : undefined
    },
  }
  return kinds[random.weighted({ any: 3, newest: 2, deletion: 3, undo: 2, batch: 2, several: 2 })]!()
}

function applyUndo(world: World, project: ProjectRef, { type, entityId, taskId, after }: EventRef): void {
  const task = project.tasks.find(({ id }) => id === taskId)
  const author = world.users.find(({ id }) => id === (after?.authorId ?? after?.userId))
  if (type === 'task.created' && !task) {
    project.tasks.push({ id: entityId, etag: null, subtasks: [], comments: [] })
  } else if (type === 'task.deleted' && task) removeFrom(project.tasks, task)
  else if (type === 'subtask.created') task?.subtasks.push(entityId)
  else if (type === 'comment.created' && author) task?.comments.push({ id: entityId, author })
  else if (type === 'member.invited' && author) project.members.push({ id: entityId, user: author })
  else if (type === 'member.removed') project.members = project.members.filter(({ id }) => id !== entityId)
}
