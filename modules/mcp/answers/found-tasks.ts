import { cursorOf, read, withQuery } from '../requests.ts'
import type { Call } from '../tool.ts'
import { openNames } from './names.ts'
import { Budget } from './budget.ts'
import { type Detail, shownTask, type Task } from './tasks.ts'

interface Search {
  /** Parameters of the list of tasks. */
  query: Record<string, unknown>
  detail: Detail
  limit?: number
  cursor?: string
}

/** The most pages that one call reads: the pages of a filtered list may be short or empty. */
const maxPages = 10
const pageRows: Record<Detail, number> = { lines: 100, preview: 50, full: 20 }

interface Found {
  rows: object[]
  budget: Budget
}

/**
 * Returns the tasks that fit into one answer. `version` is the version of the project; missing if the search has no
 * project. `indexed` is the part that a search covers while existing tasks are indexed for the first time.
 */
export async function findTasks(call: Call, search: Search): Promise<object> {
  const readPage = openReadPage(call, search)
  const { detail, limit = Infinity } = search
  const rowsOfPage = Math.min(pageRows[detail], limit)
  let found: Found = { rows: [], budget: new Budget({}) }
  let { cursor } = search
  let first: FoundPage | undefined
  for (let [pages, isFull] = [0, false]; !isFull && pages < maxPages; pages++) {
    let page = await readPage(rowsOfPage, cursor)
    first ??= page
    let next = withPage(found, page, limit)
    // Only the last task of a page has a cursor, so a shorter page is read again. Its tasks may have changed meanwhile.
    while (next.fitting > 0 && next.fitting < page.rows.length) {
      isFull = true
      page = await readPage(next.fitting, cursor)
      next = withPage(found, page, limit)
    }
    if (next.fitting < page.rows.length) break
    found = next
    cursor = page.next
    isFull ||= cursor === undefined
  }
  return { tasks: found.rows, ...first?.facts, next: cursor }
}

interface FoundPage {
  rows: object[]
  next: string | undefined
  facts: { version?: number; indexed?: string }
}

function openReadPage(call: Call, { query, detail }: Search) {
  const namesOf = openNames(call)
  return async (limit: number, cursor?: string): Promise<FoundPage> => {
    const page = await read<Task[]>(call, withQuery('/tasks', { ...query, limit, cursor }))
    const shown = page.body.map(async (task) => {
      const names = await namesOf(task.projectId)
      const row = shownTask(task, detail, names)
      const { projectId } = task
      return query.projectId ? row : { ...row, project: names.get(projectId) ?? projectId }
    })
    return { rows: await Promise.all(shown), next: cursorOf(page), facts: factsIn(page.headers) }
  }
}

function factsIn(headers: Headers): FoundPage['facts'] {
  const [version, indexed] = [headers.get('docket-version'), headers.get('docket-indexed') ?? 'all']
  return { ...(version && { version: Number(version) }), ...(indexed !== 'all' && { indexed }) }
}

/** Adds the rows that fit into the answer. `fitting` is the index of the first row that does not fit. */
function withPage(found: Found, page: FoundPage, limit: number): Found & { fitting: number } {
  const [rows, budget] = [[...found.rows], new Budget(found.budget)]
  for (const [index, row] of page.rows.entries()) {
    if (rows.length === limit || !budget.add(row)) return { rows, budget, fitting: index }
    rows.push(row)
  }
  return { rows, budget, fitting: page.rows.length }
}
