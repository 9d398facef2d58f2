import { expect } from 'bun:test'
import { Random } from '../../faults/random.ts'
import { nextPath } from '../../http/list-pages.ts'
import type { Answer, Client, Person } from '../../support/client.ts'
import type { Hit } from '../scene.ts'

/** That a search for `q` finds the task; undefined while a write may change this, and after a write without an answer. */
interface Fact {
  q: string
  taskId: string
  isTrue: boolean | undefined
  changes: number
  /** A word of a subtask finds the task in lists only. */
  isOfSubtask?: boolean
}

interface Task {
  id: string
  facts: Fact[]
  title: Fact
  description?: Fact
  isBusy: boolean
}

type Change = [fact: Fact, isTrue: boolean]

const isDone = (answer: Answer | undefined) => answer?.status === 200 || answer?.status === 201
const may = [200, 201, 503, undefined]

export type Facts = ReturnType<typeof openFacts>

/**
 * Writes tasks with words of their own at several processes, and checks that searches find what was acknowledged before.
 * @param people one user at each process
 * @param allowed the statuses that a search may get besides 200; undefined: no response
 */
export function openFacts(people: Person[], projectIds: string[], allowed: (number | undefined)[] = []) {
  const random = new Random(people.length + projectIds.length)
  const name = `n${Date.now().toString(36)}`
  const [facts, tasks]: [Fact[], Task[]] = [[], []]
  let made = 0
  let checked = 0
  /** Ends with a letter, so that no word is the beginning of another. */
  const newWord = () => `${name}x${++made}z`
  const newFact = (q: string, taskId: string, isTrue?: boolean): Fact => {
    const fact = { q, taskId, isTrue, changes: 0 }
    facts.push(fact)
    return fact
  }
  const anyone = () => random.pick(people)!

  /** Sends a write that makes facts true or false. */
  async function change(changed: Change[], send: Promise<Answer>): Promise<void> {
    for (const [fact] of changed) Object.assign(fact, { isTrue: undefined, changes: fact.changes + 1 })
    const answer = await send.catch(() => undefined)
    expect(may).toContain(answer?.status)
    if (isDone(answer)) for (const [fact, isTrue] of changed) fact.isTrue = isTrue
  }

  async function create(): Promise<void> {
    const word = newWord()
    const body = { title: `${name} ${word}`, projectId: random.pick(projectIds)! }
    const answer = await anyone()
      .post('/tasks', body)
      .catch(() => undefined)
    expect(may).toContain(answer?.status)
    if (!isDone(answer)) return
    const { id } = answer!.body
    const title = newFact(word, id, true)
    tasks.push({ id, title, facts: [title, newFact(name, id, true)], isBusy: false })
  }

  const writes = {
    /** The task is found all the time. */
    move: ({ id }: Task) =>
      change([], anyone().patch(`/tasks/${id}`, { projectId: random.pick(projectIds)! })),
    rename(task: Task) {
      const [before, title] = [task.title, newFact(newWord(), task.id)]
      task.facts.push(title)
      task.title = title
      const send = anyone().patch(`/tasks/${task.id}`, { title: `${name} ${title.q}` })
      return change(
        [
          [before, false],
          [title, true],
        ],
        send,
      )
    },
    describe(task: Task) {
      const [before, description] = [task.description, newFact(newWord(), task.id)]
      task.facts.push(description)
      task.description = description
      const send = anyone().patch(`/tasks/${task.id}`, { description: `In ink: ${description.q}.` })
      return change([...(before ? [[before, false] as Change] : []), [description, true]], send)
    },
    comment(task: Task) {
      const fact = newFact(newWord(), task.id)
      task.facts.push(fact)
      return change([[fact, true]], anyone().post(`/tasks/${task.id}/comments`, { text: `Says ${fact.q}!` }))
    },
    subtask(task: Task) {
      const fact = newFact(newWord(), task.id)
      fact.isOfSubtask = true
      task.facts.push(fact)
      return change([[fact, true]], anyone().post(`/tasks/${task.id}/subtasks`, { title: `Do ${fact.q}` }))
    },
    remove(task: Task) {
      tasks.splice(tasks.indexOf(task), 1)
      return change(
        task.facts.map((fact) => [fact, false]),
        anyone().delete(`/tasks/${task.id}`),
      )
    },
  }

  /** Makes one write. */
  async function write(): Promise<void> {
    const task = random.pick(tasks)
    if (!task || task.isBusy || random.chance(0.5)) return create()
    const weights = { move: 3, rename: 2, describe: 1, comment: 3, subtask: 1, remove: 1 }
    task.isBusy = true
    await writes[random.weighted(weights)](task)
    task.isBusy = false
  }

  /** Returns the ids of the tasks that are found by a list, or by a search with their titles, texts and comments. */
  async function find(client: Client, path: string): Promise<Set<string> | undefined> {
    const ids = new Set<string>()
    for (let next: string | undefined = path; next;) {
      const answer: Answer | undefined = await client.get(next).catch(() => undefined)
      if (answer?.status !== 200) {
        expect([path, allowed.includes(answer?.status), answer?.text]).toEqual([path, true, answer?.text])
        return undefined
      }
      const indexed = answer.headers.get('docket-indexed')
      if (indexed?.startsWith('behind: ')) return undefined
      expect(indexed).toBe('all')
      for (const hit of answer.body as unknown as Hit[]) if (!hit.fuzzy) ids.add(hit.taskId ?? hit.id)
      next = nextPath(answer.headers)
    }
    return ids
  }

  /** Searches for `q`, and compares the answer with all facts about `q` that did not change meanwhile. */
  async function check(q: string, client: Client = anyone()): Promise<boolean> {
    const before = facts.filter((fact) => fact.q === q).map((fact) => ({ fact, ...fact }))
    const isInList = q === name || before.some(({ isOfSubtask }) => isOfSubtask) || random.chance(0.5)
    const ids = await find(client, `/${isInList ? 'tasks' : 'search'}?limit=200&q=${q}`)
    if (!ids) return false
    for (const { fact, changes, isTrue, taskId } of before) {
      if (isTrue === undefined || fact.changes !== changes) continue
      expect({ q, taskId, isFound: ids.has(taskId) }).toEqual({ q, taskId, isFound: isTrue })
      checked++
    }
    return true
  }

  return {
    write,
    /** Checks one fact, or sometimes all tasks. */
    check: () => check(random.chance(0.1) ? name : (random.pick(facts)?.q ?? name)),
    /** Checks every fact at every process. */
    async checkAll(): Promise<void> {
      for (const client of people)
        for (const q of new Set(facts.map(({ q }) => q))) expect(await check(q, client)).toBeTrue()
    },
    counts: () => ({
      facts: facts.length,
      checked,
      unknown: facts.filter(({ isTrue }) => isTrue === undefined).length,
    }),
  }
}

/** Writes and checks at the same time until `writes` writes have been sent. */
export async function writeAndCheck(
  { write, check }: Facts,
  writes: number,
  writers = 8,
  searchers = 4,
): Promise<void> {
  let left = writes
  const write1 = async () => {
    while (left-- > 0) await write()
  }
  const search = async () => {
    while (left > 0) await check()
  }
  await Promise.all([
    ...Array.from({ length: writers }, write1),
    ...Array.from({ length: searchers }, search),
  ])
}
