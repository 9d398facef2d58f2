import { type Answer, type Client, type Person, Random } from '../../kit.ts'
import { type Hit, listTasks } from '../scene.ts'

/** A task that one writer changes, so that the writer knows which words find the task. No word is in two texts. */
interface Task {
  id: string
  words: { text: string; verb: string; isFound: boolean }[]
}

type Write = (client: Client, id: string, word: string) => Promise<Answer>

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
  const anyProject = () => random.pick(projectIds)!
  let count = 0
  const writes: Record<string, Write> = {
    title: (client, id, word) => client.patch(`/tasks/${id}`, { title: `${name} ${word}` }),
    text: (client, id, word) => client.patch(`/tasks/${id}`, { description: `In ink: ${word}.` }),
    comment: (client, id, word) => client.post(`/tasks/${id}/comments`, { text: `Says ${word}!` }),
    subtask: (client, id, word) => client.post(`/tasks/${id}/subtasks`, { title: `Do ${word}` }),
    move: (client, id) => client.patch(`/tasks/${id}`, { projectId: anyProject() }),
    remove: (client, id) => client.delete(`/tasks/${id}`),
  }
  const replacing = ['title', 'text']
  const weights = { move: 3, title: 2, text: 1, comment: 3, subtask: 1, remove: 1 }

  /** Returns undefined if the write is rejected temporarily or its outcome is unknown. */
  async function send(sent: Promise<Answer>): Promise<Answer | undefined> {
    const answer = await sent.catch(() => undefined)
    expect([200, 201, 503, undefined]).toContain(answer?.status)
    const isDone = answer?.status === 200 || answer?.status === 201
    counts[isDone ? 'writes' : 'unknown']++
    return isDone ? answer : undefined
  }

  /** Checks which words find the task, unless the index is incomplete. Returns false if this cannot be checked now. */
  async function check({ id, words }: Task, client = anyone()): Promise<boolean> {
    for (const { text, verb, isFound } of words) {
      const path = verb === 'subtask' || random.chance(0.5) ? 'tasks' : 'search'
      const answer = await client.get(`/${path}?q=${text}`).catch(() => undefined)
      if (answer?.status !== 200) expect(allowed).toContain(answer?.status)
      const indexed = answer?.status === 200 ? answer.headers.get('docket-indexed') : 'behind: 1'
      expect(indexed).toMatch(/^(all|behind: \d+|\d+%)$/)
      if (indexed !== 'all') return false
      const hits = (answer!.body as unknown as Hit[]).filter(({ fuzzy }) => !fuzzy)
      const ids = hits.map((hit) => hit.taskId ?? hit.id)
      expect({ text, verb, ids }).toEqual({ text, verb, ids: isFound ? [id] : [] })
    }
    return true
  }

  /** Changes a new task until it is removed or `isOver`. The other words find the task all the time, also while it moves. */
  async function writeTask(isOver: () => boolean): Promise<void> {
    // Ends with a letter, so that no word is the beginning of another.
    const newWord = (verb: string) => ({ text: `${name}x${++count}z`, verb, isFound: true })
    const first = newWord('title')
    const title = `${name} ${first.text}`
    const created = await send(anyone().post('/tasks', { title, projectId: anyProject() }))
    if (!created) return
    const task = { id: created.body.id, words: [first] }
    all.add(task)
    for (let isRemoved = false; !isRemoved && !isOver();) {
      const word = newWord(random.weighted(weights))
      isRemoved = word.verb === 'remove'
      const isReplaced = ({ verb }: { verb: string }) =>
        isRemoved || (verb === word.verb && replacing.includes(verb))
      const kept = random.pick(task.words.filter((one) => !isReplaced(one)))
      const sent = send(writes[word.verb]!(anyone(), task.id, word.text))
      const [answer] = await Promise.all([sent, kept && check({ ...task, words: [kept] })])
      if (!answer) return void all.delete(task)
      for (const one of task.words) one.isFound &&= !isReplaced(one)
      if (word.verb !== 'move' && !isRemoved) task.words.push(word)
      await check({ ...task, words: [random.pick(task.words)!, task.words.at(-1)!] })
    }
  }

  return {
    counts,
    /** Several writers write, each to tasks of its own, until `isOver`. */
    async writeUntil(isOver: () => boolean, writers = 8): Promise<void> {
      const write = async () => {
        while (!isOver()) await writeTask(isOver)
      }
      await Promise.all(Array.from({ length: writers }, write))
    },
    /** Checks every word at every process, and that a list finds all tasks. */
    async checkAll(): Promise<void> {
      for (const client of people) {
        for (const task of all) expect(await check(task, client)).toBeTrue()
        if (counts.unknown > 0) continue
        const live = [...all].filter(({ words }) => words.some(({ isFound }) => isFound))
        const listed = (await listTasks(client, name)).map((one) => one.id)
        expect(listed.sort()).toEqual(live.map(({ id }) => id).sort())
      }
    },
  }
}
