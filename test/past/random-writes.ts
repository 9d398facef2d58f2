import type { Random } from '../faults/random.ts'
import type { World } from '../rules/verbs.ts'
import { type Answer, type Body, invite, make, type Person } from '../support/client.ts'

const statuses = ['TODO', 'IN_PROGRESS', 'DONE']
const priorities = ['LOW', 'MEDIUM', 'HIGH']
export const days = ['2030-01-01', '2030-01-02', '2030-01-03', '2030-01-04T12:00:00.5+02:00', null]

/** Two projects of the first user, to which all users write at the same time. */
export interface RandomWrites extends World {
  random: Random
}

export async function startRandomWrites(random: Random, people: Person[]): Promise<RandomWrites> {
  const [ada, ...others] = people
  const projects = [
    await make(ada!, '/projects', { name: 'One' }),
    await make(ada!, '/projects', { name: 'Other' }),
  ]
  for (const { id } of projects) for (const one of others) await invite(ada!, id, one, 'ADMIN')
  return { random, people, projects, members: [], tasks: [], subtasks: [], comments: [] }
}

function someTask({ random, people }: RandomWrites): object {
  return {
    title: `T${random.below(100)}`,
    ...(random.chance(0.5) && { status: random.pick(statuses) }),
    ...(random.chance(0.5) && { priority: random.pick(priorities) }),
    ...(random.chance(0.5) && { dueDate: random.pick(days) }),
    ...(random.chance(0.3) && { assigneeId: random.pick([null, ...people])?.id ?? null }),
    ...(random.chance(0.2) && { description: 'long '.repeat(random.below(600)) || null }),
  }
}

/** Returns mostly one of the first eight tasks, so that a task is changed several times. */
const someOf = (random: Random, tasks: Body[]) => random.pick(random.chance(0.7) ? tasks.slice(0, 8) : tasks)

type Verb = (world: RandomWrites, who: Person) => Promise<Answer> | undefined
const keep = async (list: Body[], answer: Promise<Answer>) => {
  const { status, body } = await answer
  if (status === 201) list.push(body)
  return answer
}

const someProject = ({ random, projects }: RandomWrites) => random.pick(projects)!.id
const titled = (random: Random) => ({ title: `S${random.below(100)}` })
const worded = (random: Random) => ({ text: `C${random.below(100)}` })

const onMember = (member: Body | undefined, work: (path: string) => Promise<Answer>) =>
  member && work(`/projects/${member.projectId}/members/${member.id}`)

const verbs = {
  createTask: (world, who) =>
    keep(world.tasks, who.post('/tasks', { ...someTask(world), projectId: someProject(world) })),
  changeTask: (world, who) => who.patch(`/tasks/${someOf(world.random, world.tasks)?.id}`, someTask(world)),
  moveTask: ({ random, tasks, projects }, who) =>
    who.patch(`/tasks/${someOf(random, tasks)?.id}`, { projectId: random.pick(projects)!.id }),
  deleteTask: ({ random, tasks }, who) => who.delete(`/tasks/${someOf(random, tasks)?.id}`),
  addSubtask: ({ random, tasks, subtasks }, who) =>
    keep(subtasks, who.post(`/tasks/${someOf(random, tasks)?.id}/subtasks`, titled(random))),
  toggleSubtask: ({ random, subtasks }, who) =>
    who.patch(`/tasks/subtasks/${random.pick(subtasks)?.id}/toggle`),
  deleteSubtask: ({ random, subtasks }, who) => who.delete(`/tasks/subtasks/${random.pick(subtasks)?.id}`),
  addComment: ({ random, tasks, comments }, who) =>
    keep(comments, who.post(`/tasks/${someOf(random, tasks)?.id}/comments`, worded(random))),
  editComment: ({ random, comments }, who) =>
    who.patch(`/tasks/comments/${random.pick(comments)?.id}`, worded(random)),
  deleteComment: ({ random, comments }, who) => who.delete(`/tasks/comments/${random.pick(comments)?.id}`),
  changeProject: ({ random, projects }, who) =>
    who.patch(`/projects/${random.pick(projects)!.id}`, { name: `P${random.below(100)}` }),
  invite(world, who) {
    const invited = { email: world.random.pick(world.people)!.email, role: 'ADMIN' }
    return keep(world.members, who.post(`/projects/${someProject(world)}/members/invite`, invited))
  },
  setRole: ({ random, members }, who) =>
    onMember(random.pick(members), (path) =>
      who.patch(`${path}/role`, { role: random.pick(['ADMIN', 'EDITOR']) }),
    ),
  removeMember: ({ random, members }, who) => onMember(random.pick(members), (path) => who.delete(path)),
  undo: async (world, who) => {
    const id = someProject(world)
    const { headers } = await who.get(`/projects/${id}`)
    const seq = Number(headers.get('docket-version') ?? 1) - world.random.below(8)
    return who.post(`/projects/${id}/undo`, { seq: Math.max(seq, 1) })
  },
  batch: (world, who) =>
    who.post(`/projects/${someProject(world)}/batch`, {
      operations: [
        { op: 'task.create', as: 'a', ...someTask(world) },
        { op: 'subtask.create', taskId: '#a', title: 'Of a batch' },
        { op: 'task.update', id: '#a', ...someTask(world) },
        { op: 'task.create', ...someTask(world) },
      ],
    }),
} satisfies Record<string, Verb>

const weights: Record<keyof typeof verbs, number> = {
  ...{ createTask: 6, changeTask: 12, moveTask: 10, deleteTask: 1, batch: 1, undo: 6 },
  ...{ addSubtask: 6, toggleSubtask: 6, deleteSubtask: 1, addComment: 6, editComment: 3, deleteComment: 1 },
  ...{ changeProject: 2, invite: 1, setRole: 1, removeMember: 1 },
}

/** Runs random writes of all users at the same time. A 4xx is expected, any other error fails the test. */
export async function writeRandomly(world: RandomWrites, writes: number): Promise<void> {
  const asked = Array.from({ length: writes }, async () => {
    const verb: Verb = verbs[world.random.weighted(weights)]
    const answer = await verb(world, world.random.pick(world.people)!)
    if (answer && ![200, 201, 400, 403, 404, 409].includes(answer.status))
      throw new Error(`a write got ${answer.status} ${answer.text}`)
  })
  await Promise.all(asked)
}
