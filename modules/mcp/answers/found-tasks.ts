import { cursorOf, read, withQuery } from '../read.ts'
import type { Call } from '../tool.ts'
import { openNames } from './names.ts'
import { TokenBudget } from './token-budget.ts'
import { type Detail, shownTask, type Task } from './tasks.ts'

interface Search {
  /** Parameters of the list of tasks. */
  query: Record<string, unknown>
  /** In lower case. The title or the description of a task contains each word. */
  words: string[]
  detail: Detail
  limit?: number
  cursor?: string
}

/** The most tasks that one call reads. */
const maxTasksRead = 1_000
/** The most pages that one call reads: the pages of a filtered list may be empty. */
const maxPages = 10
const pageRows: Record<Detail, number> = { lines: 100, preview: 50, full: 20 }
const pageRowsOfSearch = 200

interface Found {
  rows: object[]
  budget: TokenBudget
}

/** Returns the tasks that fit into one answer. `version` is the version of the project; missing if the search has no project. */
export async function findTasks(call: Call, search: Search): Promise<object> {
  const readPage = openReadPage(call, search)
  const { words, detail, limit = Infinity } = search
  const rowsOfPage = words.length > 0 ? pageRowsOfSearch : Math.min(pageRows[detail], limit)
  let found: Found = { rows: [], budget: new TokenBudget({}) }
  let { cursor } = search
  let version: string | null = null
  for (
    let [pages, tasksRead, isFull] = [0, 0, false];
    !isFull && pages < maxPages && tasksRead < maxTasksRead;
    pages++
  ) {
    let page = await readPage(rowsOfPage, cursor)
    version ??= page.version
    let next = withPage(found, page, limit)
    // Only the last task of a page has a cursor, so a shorter page is read again. Its tasks may have changed meanwhile.
    while (next.fitting > 0 && next.fitting < page.size) {
      isFull = true
      page = await readPage(next.fitting, cursor)
      next = withPage(found, page, limit)
    }
    if (next.fitting < page.size) break
    found = next
    tasksRead += page.size
    cursor = page.next
    isFull ||= cursor === undefined
  }
  return { tasks: found.rows, ...(version && { version: Number(version) }), next: cursor }
}

interface FoundPage {
  /** The number of tasks that the service returned, with or without the words. */
  size: number
  /** The tasks with the words. `index` is the index in the page of the service. */
  shown: { row: object; index: number }[]
  next: string | undefined
  version: string | null
}

function openReadPage(call: Call, { query, words, detail }: Search) {
  const namesOf = openNames(call)
  return async (limit: number, cursor?: string): Promise<FoundPage> => {
    const page = await read<Task[]>(call, withQuery('/tasks', { ...query, limit, cursor }))
    const found = page.body.flatMap((task, index) => (hasWords(task, words) ? [{ task, index }] : []))
    const shown = found.map(async ({ task, index }) => {
      const names = await namesOf(task.projectId)
      const row = shownTask(task, detail, names)
      const { projectId } = task
      return { index, row: query.projectId ? row : { ...row, project: names.get(projectId) ?? projectId } }
    })
    const version = page.headers.get('docket-version')
    return { size: page.body.length, shown: await Promise.all(shown), next: cursorOf(page), version }
  }
}

/** Adds the rows that fit into the answer. `fitting` is the index of the first task that does not fit. */
function withPage(found: Found, page: FoundPage, limit: number): Found & { fitting: number } {
  const [rows, budget] = [[...found.rows], new TokenBudget(found.budget)]
  for (const { row, index } of page.shown) {
    if (rows.length === limit || !budget.add(row)) return { rows, budget, fitting: index }
    rows.push(row)
  }
  return { rows, budget, fitting: page.size }
}

function hasWords({ title, description }: Task, words: string[]): boolean {
  if (words.length === 0) return true
  const text = `${title}\n${description ?? ''}`.toLowerCase()
  return words.every((word) => text.includes(word))
}
