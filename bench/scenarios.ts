import { limitReads as reads } from './limit-reads.ts'
import { limitWrites as writes } from './limit-writes.ts'
import type { Plan } from './plan.ts'
import { creation, getTask, getting, knownList, listTasks, only, renaming, trackerMix } from './requests.ts'
import { eachOf, type World } from './seed.ts'
import type { LimitScript } from './sql-loop.ts'

export interface Scenario {
  name: string
  title: string
  connections: number
  /** Web processes on one port. */
  webs: number
  plan(world: World): Plan | Promise<Plan>
  /** The same work, asked of Postgres by itself. */
  limit(world: World): LimitScript[]
  /** The least that Postgres could be asked for, in one statement that knows what this service knows. */
  strictLimit?(world: World): LimitScript[]
  /** True where a server of the same interface, but without our extensions, can be measured too. */
  common: boolean
}

export const scenarios: Scenario[] = [
  createSpread(1),
  {
    ...{ name: 'create-hot', title: 'create task, one hot project', connections: 256, webs: 1, common: true },
    plan: ({ projects }) => only(201, [creation(projects[0]!)]),
    limit: () => alone(writes.createHot()),
    strictLimit: () => alone(writes.createHotAtOnce()),
  },
  {
    ...{ name: 'patch-spread', title: 'patch task, all projects', connections: 256, webs: 1, common: true },
    plan: ({ tasks }) => only(200, tasks.map(renaming)),
    limit: ({ tasks }) => alone(writes.patchSpread(tasks.length)),
  },
  {
    ...{ name: 'toggle-hot', title: 'toggle one hot subtask', connections: 256, webs: 1, common: true },
    plan: ({ projects, hotSubtask }) => {
      const path = `/tasks/subtasks/${hotSubtask}/toggle`
      return only(200, [{ method: 'PATCH', path, token: projects[0]!.token }])
    },
    limit: () => alone(writes.toggleHot()),
  },
  {
    ...{ name: 'get-task', title: 'get task', connections: 64, webs: 1, common: true },
    plan: ({ tasks }) => only(200, tasks.map(getTask)),
    limit: ({ tasks }) => alone(reads.task(tasks.length)),
  },
  {
    ...{ name: 'get-project', title: 'get project', connections: 64, webs: 1, common: true },
    plan: ({ projects }) => only(200, projects.map(getting('/projects/'))),
    limit: ({ projects }) => alone(reads.project(projects.length)),
  },
  {
    ...{ name: 'list', title: 'list 20 tasks', connections: 64, webs: 1, common: true },
    plan: ({ projects }) => only(200, projects.map(listTasks)),
    limit: ({ projects }) => alone(reads.tasks(projects.length)),
  },
  {
    ...{ name: 'list-304', title: 'list 20 tasks, If-None-Match', connections: 64, webs: 1, common: true },
    plan: async ({ url, projects }) =>
      only(304, await eachOf(projects, (project) => knownList(url, project))),
    // Where lists have no version, it takes the list to say that it is the same.
    limit: ({ projects }) => alone(reads.tasks(projects.length)),
    strictLimit: ({ projects }) => alone(reads.version(projects.length)),
  },
  mix(1),
  ...[2, 4].flatMap((webs) => [createSpread(webs), mix(webs)]),
]

function createSpread(webs: number): Scenario {
  return {
    ...named('create-spread', 'create task, all projects', webs),
    ...{ connections: 256, webs, common: webs === 1 },
    plan: ({ projects }) => only(201, projects.map(creation)),
    limit: ({ projects }) => alone(writes.createSpread(projects.length)),
    strictLimit: ({ projects }) => alone(writes.createSpreadAtOnce(projects.length)),
  }
}

function mix(webs: number): Scenario {
  return {
    ...named('mix', 'mix of a tracker', webs),
    ...{ connections: 64, webs, common: webs === 1 },
    plan: trackerMix,
    limit: ({ projects: { length }, tasks }) => [
      { share: 65, text: reads.task(tasks.length) },
      { share: 23, text: reads.tasks(length) },
      { share: 9, text: reads.projects(length) },
      { share: 3, text: writes.createSpread(length) },
    ],
  }
}

const alone = (text: string): LimitScript[] => [{ share: 1, text }]

function named(name: string, title: string, webs: number) {
  return webs === 1 ? { name, title } : { name: `${name}-${webs}`, title: `${title}, ${webs} web processes` }
}
