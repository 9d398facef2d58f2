import type { Random } from './random.ts'

export interface User {
  id: string
  email: string
  token: string
}

export interface KnownTask {
  id: string
  etag: string | null
  subtasks: string[]
  comments: { id: string; author: User }[]
}

export interface KnownEvent {
  seq: number
  batch: number | null
  undoes?: number
  type: string
  entityId: string
  taskId: string | null
  after: Record<string, unknown> | null
}

export interface KnownProject {
  id: string
  owner: User
  /** Stays for the whole run; others come and go. */
  lasts: boolean
  members: { id: string; user: User }[]
  tasks: KnownTask[]
  recent: KnownEvent[]
}

/** What the clients know from the answers they got. It may be old, as it is with clients. */
export class World {
  readonly projects: KnownProject[] = []
  private tags = 0

  constructor(readonly users: User[]) {}

  /** Few own all projects, so that there is mostly somebody who may move a task from one to another. */
  get owners(): User[] {
    return this.users.slice(0, 3)
  }

  tag(what: string): string {
    return `${what} ${++this.tags}`
  }

  project(random: Random): KnownProject {
    return (random.chance(0.4) ? this.projects[0] : random.pick(this.projects)) as KnownProject
  }

  task(random: Random): { project: KnownProject; task: KnownTask } | undefined {
    const project = this.project(random)
    const task = random.pick(project.tasks)
    return task && { project, task }
  }

  /** Mostly somebody of the project, at times somebody who has no business there. */
  caller(project: KnownProject, random: Random): User {
    if (random.chance(0.04)) return random.pick(this.users)!
    return random.chance(0.4) ? project.owner : (random.pick(project.members)?.user ?? project.owner)
  }
}

export function dropFrom<T>(items: T[], item: T): void {
  const at = items.indexOf(item)
  if (at >= 0) items.splice(at, 1)
}
