import { limitReads as reads } from './limit-reads.ts'
import { leastWrites as least } from './least-writes.ts'
import type { Plan } from './plan.ts'
import {
  createOf,
  keyedCreateOf,
  getTask,
  getFrom,
  unchangedList,
  listTasks,
  singleKind,
  renameOf,
  trackerMix,
} from './requests.ts'
import { eachOf, type World } from './seed.ts'
import type { LimitScript } from './sql-loop.ts'
import { usualWrites as usual } from './usual-writes.ts'

export interface Scenario {
  name: string
  title: string
  connections: number
  plan(world: World): Plan | Promise<Plan>
  /** The smallest equivalent work of Postgres alone: one statement. */
  least(world: World): LimitScript[]
  /** The usual equivalent work, if it is more: a transaction of several statements. */
  usual?(world: World): LimitScript[]
  /** Whether a server with the same interface, but without extensions, can be compared. */
  common: boolean
}

export const scenarios: Scenario[] = [
  {
    ...{
      name: 'create-keyed',
      title: 'create task with a key, all projects',
      connections: 256,
      common: true,
    },
    plan: ({ projects }) => singleKind(201, projects.map(keyedCreateOf)),
    least: ({ projects }) => alone(least.createKeyed(projects.length)),
    usual: ({ projects }) => alone(usual.createKeyed(projects.length)),
  },
  {
    ...{ name: 'create-spread', title: 'create task, all projects', connections: 256, common: true },
    plan: ({ projects }) => singleKind(201, projects.map(createOf)),
    least: ({ projects }) => alone(least.createSpread(projects.length)),
    usual: ({ projects }) => alone(usual.createSpread(projects.length)),
  },
  {
    ...{ name: 'create-hot', title: 'create task, one hot project', connections: 256, common: true },
    plan: ({ projects }) => singleKind(201, [createOf(projects[0]!)]),
    least: () => alone(least.createHot()),
    usual: () => alone(usual.createHot()),
  },
  {
    ...{ name: 'patch-spread', title: 'patch task, all projects', connections: 256, common: true },
    plan: ({ tasks }) => singleKind(200, tasks.map(renameOf)),
    least: ({ tasks }) => alone(least.patchSpread(tasks.length)),
    usual: ({ tasks }) => alone(usual.patchSpread(tasks.length)),
  },
  {
    ...{ name: 'toggle-hot', title: 'toggle one hot subtask', connections: 256, common: true },
    plan: ({ projects, hotSubtask }) => {
      const path = `/tasks/subtasks/${hotSubtask}/toggle`
      return singleKind(200, [{ method: 'PATCH', path, token: projects[0]!.token }])
    },
    least: () => alone(least.toggleHot()),
    usual: () => alone(usual.toggleHot()),
  },
  {
    ...{ name: 'get-task', title: 'get task', connections: 64, common: true },
    plan: ({ tasks }) => singleKind(200, tasks.map(getTask)),
    least: ({ tasks }) => alone(reads.task(tasks.length)),
  },
  {
    ...{ name: 'get-project', title: 'get project', connections: 64, common: true },
    plan: ({ projects }) => singleKind(200, projects.map(getFrom('/projects/'))),
    least: ({ projects }) => alone(reads.project(projects.length)),
  },
  {
    ...{ name: 'list', title: 'list 20 tasks', connections: 64, common: true },
    plan: ({ projects }) => singleKind(200, projects.map(listTasks)),
    least: ({ projects }) => alone(reads.tasks(projects.length)),
  },
  {
    ...{ name: 'list-304', title: 'list 20 tasks, If-None-Match', connections: 64, common: true },
    plan: async ({ url, projects }) =>
      singleKind(304, await eachOf(projects, (project) => unchangedList(url, project))),
    least: ({ projects }) => alone(reads.version(projects.length)),
    // Without versions, a server must read the list to know that it is unchanged.
    usual: ({ projects }) => alone(reads.tasks(projects.length)),
  },
  {
    ...{ name: 'mix', title: 'mix of a tracker', connections: 64, common: true },
    plan: trackerMix,
    least: (world) => mixed(world, least.createSpread),
    usual: (world) => mixed(world, usual.createSpread),
  },
]

const mixed = (
  { projects: { length }, tasks }: World,
  create: (projects: number) => string,
): LimitScript[] => [
  { share: 65, text: reads.task(tasks.length) },
  { share: 23, text: reads.tasks(length) },
  { share: 9, text: reads.projects(length) },
  { share: 3, text: create(length) },
]

const alone = (text: string): LimitScript[] => [{ share: 1, text }]
