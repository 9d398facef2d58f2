import { invite, make, type Person, type Random } from '../kit.ts'
import { type Ask, emptyWorld, type Verb, verbs, type World } from '../rules/verbs.ts'

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
  return { ...emptyWorld(people), random, projects }
}

const batch: Ask = ({ projects }, client, { other, value }) =>
  client.post(`/projects/${projects[other % projects.length]!.id}/batch`, {
    operations: [
      { op: 'task.create', as: 'b', title: `B${value}` },
      { op: 'task.create', as: 'a', title: `T${value}` },
      { op: 'subtask.create', taskId: '#a', title: 'Of a batch' },
      { op: 'task.update', id: '#a', title: `U${value}`, status: 'DONE', blockedByIds: ['#b'] },
      { op: 'task.create', title: `V${value}`, dueDate: '2030-01-02' },
    ],
  })

/** The worker records the times while the test runs. */
const setTimes: Ask = ({ tasks }, client, { pick, value }) => {
  const task = tasks[pick % tasks.length]
  const soon = new Date(Date.now() + value).toISOString()
  return task && client.patch(`/tasks/${task.id}`, { remindAt: soon, dueDate: soon, status: 'TODO' })
}
const setExternalId: Ask = ({ tasks }, client, { pick, value }) => {
  const task = tasks[pick % tasks.length]
  return task && client.patch(`/tasks/${task.id}`, { externalId: value % 3 ? `X-${value % 4}` : null })
}
const others = { batch, setTimes, setExternalId }

const weights: Partial<Record<Verb, number>> = {
  ...{ createTask: 8, changeTask: 10, assignTask: 3, moveTask: 10, deleteTask: 1, undo: 6 },
  ...{ addSubtask: 6, toggleSubtask: 6, deleteSubtask: 1, addComment: 6, editComment: 3, deleteComment: 1 },
  ...{ blockTask: 8, placeTask: 8, labelTask: 6, createLabel: 3, changeLabel: 1, deleteLabel: 1 },
  ...{ setValues: 6, createField: 3, changeField: 2, deleteField: 1 },
  ...{ appendToTask: 4, claimTask: 6, claimNext: 6, releaseTask: 3 },
  ...{ createView: 2, changeView: 2, deleteView: 1 },
  ...{ changeProject: 2, invite: 1, setRole: 1, removeMember: 1 },
}

/** Runs random writes of all users at the same time. A 4xx is expected, any other error fails the test. */
export async function writeRandomly(world: RandomWrites, writes: number): Promise<void> {
  const { random, people } = world
  const write = async () => {
    const verb = random.weighted({
      ...(weights as Record<Verb, number>),
      batch: 1,
      setTimes: 8,
      setExternalId: 3,
    })
    const ask: Ask = { ...verbs, ...others }[verb]
    // Mostly one of the first eight rows, so that a row is changed several times.
    const pick = random.below(random.chance(0.7) ? 8 : 1_000)
    const answer = await ask(world, random.pick(people)!, {
      pick,
      other: random.below(1_000),
      value: random.below(1_000),
    })
    if (answer && ![200, 201, 204, 400, 403, 404, 409, 428].includes(answer.status))
      throw new Error(`${verb} got ${answer.status} ${answer.text}`)
  }
  await Promise.all(Array.from({ length: writes }, write))
}
