import type { Random } from './random.ts'

export interface User {
  id: string
  email: string
  token: string
}

export interface TaskRef {
  id: string
  etag: string | null
  subtasks: string[]
  comments: { id: string; author: User }[]
}

export interface EventRef {
  seq: number
  batch: number | null
  undoes?: number
  type: string
  entityId: string
  taskId: string | null
  after: Record<string, unknown> | null
}

export interface ProjectRef {
  id: string
  owner: User
  isPermanent: boolean
  members: { id: string; user: User }[]
  tasks: TaskRef[]
  recent: EventRef[]
}

/** The data that clients know from earlier responses, which may be out of date. */
export class World {
  readonly projects: ProjectRef[] = []
  private tags = 0

  constructor(readonly users: User[]) {}

  /** Only three users own projects, so that most callers who move a task may write both projects. */
  get owners(): User[] {
    return this.users.slice(0, 3)
  }

  tag(what: string): string {
    return `${what} ${++this.tags}`
  }

  project(random: Random): ProjectRef {
    return (random.chance(0.4) ? this.projects[0] : random.pick(this.projects)) as ProjectRef
  }

  task(random: Random): { project: ProjectRef; task: TaskRef } | undefined {
    const project = this.project(random)
    const task = random.pick(project.tasks)
    return task && { project, task }
  }

  caller(project: ProjectRef, random: Random): User {
    if (random.chance(0.04)) return random.pick(this.users)!
    return random.chance(0.4) ? project.owner : (random.pick(project.members)?.user ?? project.owner)
  }
}

export function removeFrom<T>(items: T[], item: T): void {
  const at = items.indexOf(item)
  if (at >= 0) items.splice(at, 1)
}
