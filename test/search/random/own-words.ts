import { expect } from 'bun:test'
import { Random } from '../../faults/random.ts'
import type { Answer, Body, Client, Person } from '../../support/client.ts'
import { type Hit, listTasks } from '../scene.ts'

interface Word {
  text: string
  verb: Verb
  isFound: boolean
}
/** A task that one writer changes, so that the writer knows at any time which words find the task. No word is in two texts. */
interface Task {
  id: string
  words: Word[]
}

type Verb = 'title' | 'description' | 'comment' | 'subtask' | 'move' | 'remove'
const weights: Record<Verb, number> = { move: 3, title: 2, description: 1, comment: 3, subtask: 1, remove: 1 }

export type OwnWords = ReturnType<typeof openOwnWords>

/**
 * Returns functions that write tasks at several processes, and check that searches find what was acknowledged before.
 * @param people one user at each process
 * @param allowed the statuses that a search may get besides 200; undefined: no response
 */
export function openOwnWords(people: Person[], projectIds: string[], allowed: (number | undefined)[] = []) {
  const random = new Random(people.length + projectIds.length)
  const name = `n${Date.now().toString(36)}`
  const all = new Set<Task>()
  const counts = { writes: 0, unknown: 0 }
  const anyone = () => random.pick(people)!
  let words = 0
  /** Ends with a letter, so that no word is the beginning of another. */
  const newWord = (verb: Verb): Word => ({ text: `${name}x${++words}z`, verb, isFound: true })

  const request = (client: Client, { verb, text }: Word, id: string): Promise<Answer> => {
    if (verb === 'move') return client.patch(`/tasks/${id}`, { projectId: random.pick(projectIds)! })
    if (verb === 'title') return client.patch(`/tasks/${id}`, { title: `${name} ${text}` })
    if (verb === 'description') return client.patch(`/tasks/${id}`, { description: `In ink: ${text}.` })
    if (verb === 'comment') return client.post(`/tasks/${id}/comments`, { text: `Says ${text}!` })
    if (verb === 'subtask') return client.post(`/tasks/${id}/subtasks`, { title: `Do ${text}` })
    return client.delete(`/tasks/${id}`)
  }

  /** Returns undefined if the write is rejected temporarily or its outcome is unknown. */
  async function send(sent: Promise<Answer>): Promise<Body | undefined> {
    const answer = await sent.catch(() => undefined)
    expect([200, 201, 503, undefined]).toContain(answer?.status)
    const isDone = answer?.status === 200 || answer?.status === 201
    counts[isDone ? 'writes' : 'unknown']++
    return isDone ? answer.body : undefined
  }

  /** Checks whether exactly this task is found, unless indexing is behind. Returns false if this cannot be checked now. */
  async function check({ id }: Task, { text, verb, isFound }: Word, client = anyone()): Promise<boolean> {
    const path = verb === 'subtask' || random.chance(0.5) ? 'tasks' : 'search'
    const answer = await client.get(`/${path}?q=${text}`).catch(() => undefined)
    if (answer?.status !== 200) {
      expect([path, allowed.includes(answer?.status), answer?.text]).toEqual([path, true, answer?.text])
      return false
    }
    const indexed = answer.headers.get('docket-indexed')!
    expect(indexed).toMatch(/^(all|behind: \d+)$/)
    if (indexed !== 'all') return false
    const hits = (answer.body as unknown as Hit[]).filter(({ fuzzy }) => !fuzzy)
    const ids = hits.map((hit) => hit.taskId ?? hit.id)
    expect({ text, verb, ids }).toEqual({ text, verb, ids: isFound ? [id] : [] })
    return true
  }

  async function create(own: Task[]): Promise<void> {
    const word = newWord('title')
    const body = await send(
      anyone().post('/tasks', { title: `${name} ${word.text}`, projectId: random.pick(projectIds)! }),
    )
    if (!body) return
    const task = { id: body.id, words: [word] }
    own.push(task)
    all.add(task)
    await check(task, word)
  }

  async function change(own: Task[], task: Task): Promise<void> {
    const word = newWord(random.weighted(weights))
    const { verb } = word
    const isReplaced = (one: Word) =>
      verb === 'remove' || (one.verb === verb && ['title', 'description'].includes(verb))
    const others = random.pick(task.words.filter((one) => !isReplaced(one)))
    // The other words find the task all the time, also while the task moves.
    const [body] = await Promise.all([send(request(anyone(), word, task.id)), others && check(task, others)])
    if (!body || verb === 'remove') own.splice(own.indexOf(task), 1)
    if (!body) return void all.delete(task)
    for (const one of task.words) one.isFound &&= !isReplaced(one)
    if (verb !== 'move' && verb !== 'remove') task.words.push(word)
    await check(task, random.pick(task.words.filter(isReplaced)) ?? task.words.at(-1)!)
  }

  return {
    counts,
    /** Several writers write, each to tasks of its own, until `isOver`. */
    async writeUntil(isOver: () => boolean, writers = 8): Promise<void> {
      const write = async () => {
        for (const own: Task[] = []; !isOver();) {
          const task = random.pick(own)
          await (task && random.chance(0.5) ? change(own, task) : create(own))
        }
      }
      await Promise.all(Array.from({ length: writers }, write))
    },
    /** Checks every word at every process, and that a list finds all tasks. */
    async checkAll(): Promise<void> {
      for (const client of people) {
        for (const task of all)
          for (const word of task.words) expect(await check(task, word, client)).toBeTrue()
        if (counts.unknown > 0) continue
        const live = [...all].filter(({ words }) => words.some(({ isFound }) => isFound))
        expect((await listTasks(client, name)).map((one) => one.id).sort()).toEqual(
          live.map(({ id }) => id).sort(),
        )
      }
    },
  }
}
