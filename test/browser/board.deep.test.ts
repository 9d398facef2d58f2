import { setDefaultTimeout } from 'bun:test'
import { eventually, invite, type Person, read, register, runBatch, versionOf, words } from '../kit.ts'
import { card, columnsIn, columnsOf, eventsAfter, moveOver, openBoardScene, pickUp, press } from './board.ts'
import { setValue, slideTo, textOf, untilSays, untilShows } from './board.ts'
import type { Visit } from './browser.ts'

setDefaultTimeout(300_000)

const { url, client, visit, ada, bob, openBoard, makeBoard, kill, restart } = await openBoardScene()
const people: Record<string, Person> = { ada, bob }

/** The board of a script. A script opens the window with the steps `visit` or `open`. */
interface Board extends Visit {
  /** What `$name` stands for: the ids of the project, a member and the tasks, by their titles, and of people. */
  ids: Record<string, string>
  /** The version of the project when the window was opened. */
  version: number
  /** The path and body of each PATCH that the page has sent with a key. */
  sent: string[]
}

/** Returns the columns with the titles of the tasks, for example `a b | c |`. */
const shownAs = (text: string, { ids }: Board) => {
  const [TODO = [], IN_PROGRESS = [], DONE = []] = text
    .split('|')
    .map((titles) => words(titles).flatMap((title) => ids[title] ?? []))
  return { TODO, IN_PROGRESS, DONE }
}
const eventsOf = ({ ids, version }: Board) => eventsAfter(ada, ids.project!, version)
const untilCount = (board: Board, count: number) =>
  eventually(`${count} events`, async () => (await eventsOf(board)).length === count)
const parts = (text: string) => text.split(' <- ') as [selector: string, value: string]

const steps: Record<string, (board: Board, text: string) => Promise<unknown>> = {
  async tasks({ ids }, text) {
    const titles = words(text)
    const made = await makeBoard(titles)
    const [member] = (await ada.get(`/projects/${made.projectId}/members`)).body
    const own = Object.fromEntries(titles.map((title, n) => [title, made.ids[n]!]))
    Object.assign(ids, { project: made.projectId, member: member!.id, ada: ada.id, ...own })
  },
  visit: async (board) => Object.assign(board, await visit(`${url}/board`, 1280, 800)),
  async open(board, name) {
    const { project = '' } = board.ids
    if (!people[name]) await invite(ada, project, (people[name] = await register(client, name)), 'EDITOR')
    Object.assign(board, await openBoard(people[name]!, project), { version: await versionOf(ada, project) })
    await board.page.evaluate(() => Object.assign(globalThis, { isSamePage: true }))
    board.page.on('request', (request) => {
      if (request.method() === 'PATCH' && /^[\w-]{36}$/.test(request.headers()['idempotency-key'] ?? ''))
        board.sent.push(`${new URL(request.url()).pathname} ${request.postData()}`)
    })
  },
  wait: ({ page }, selector) => page.waitForSelector(selector),
  gone: ({ page }, selector) => page.waitForSelector(selector, { hidden: true }),
  says: ({ page }, text) => untilSays(page, text),
  async text({ page }, text) {
    const [selector, expected] = parts(text)
    await eventually(text, async () => (await textOf(page, selector)).includes(expected))
  },
  async value({ page }, text) {
    const [selector, expected] = parts(text)
    expect(await page.$eval(selector, (one) => (one as HTMLInputElement).value)).toBe(expected)
  },
  'at-once': async (board, text) => expect(await columnsIn(board.page)).toEqual(shownAs(text, board)),
  async columns(board, text) {
    const expected = shownAs(text, board)
    await untilShows(board.page, expected)
    const isStored = async () => Bun.deepEquals(await columnsOf(ada, board.ids.project!), expected)
    await eventually('the stored columns', isStored)
  },
  sent: async ({ sent }, text) => expect(sent).toEqual([`/api/v1${text}`]),
  events: (board, count) => untilCount(board, Number(count)),
  async has(_, text) {
    const [, path = '', expected = ''] = /^(\S+) (.*)$/.exec(text)!
    const isStored = async () => {
      const { body } = await ada.get(path)
      return Bun.deepMatch(JSON.parse(expected), body)
    }
    await eventually(text, isStored)
  },
  async 'one-batch'(board) {
    const batches = ((await eventsOf(board)) as never as { batch: number }[]).map(({ batch }) => batch)
    expect([batches.length > 1, new Set(batches).size]).toEqual([true, 1])
  },
  'same-page': async ({ page }) => expect(await page.evaluate(() => 'isSamePage' in globalThis)).toBe(true),
  press: ({ page }, keys) => press(page, keys),
  type: ({ page }, text) => page.keyboard.type(text),
  async tab({ page }, text) {
    const focused = () =>
      page.$eval(':focus', (one) => one.getAttribute('aria-label') ?? one.textContent ?? '')
    do await press(page, 'Tab')
    while (!(await focused()).includes(text))
  },
  click: async ({ page }, selector) => (await page.waitForSelector(selector))!.click(),
  focus: async ({ page }, selector) => (await page.waitForSelector(selector))!.focus(),
  blur: ({ page }) => page.evaluate(() => (document.activeElement as HTMLElement).blur()),
  async fill({ page }, text) {
    await page.type(...parts(text))
    await press(page, 'Enter')
  },
  async select({ page }, text) {
    const [index, value] = parts(text)
    const field = (await page.$$('.fields select'))[Number(index)]!
    await field.evaluate((one) => one.scrollIntoView())
    await field.select(value)
  },
  set: ({ page }, text) => setValue(page, ...parts(text), 'change'),
  pick: ({ page }, selector) => pickUp(page, selector),
  over: ({ page }, selector) => moveOver(page, selector),
  drop: ({ page }) => page.mouse.up(),
  /** Shows an earlier version, and compares it with that of the service. */
  async slide({ page, ids }, version) {
    await slideTo(page, Number(version))
    await untilShows(page, await columnsOf(ada, ids.project!, Number(version)))
  },
  async undo(board) {
    const { length } = await eventsOf(board)
    await board.page.click('#undo')
    await untilCount(board, length + 1)
  },
  kill,
  restart,
  offline: ({ page }) => page.setOfflineMode(true),
  online: ({ page }) => page.setOfflineMode(false),
  go: ({ page }, hash) => page.goto(`${url}/board${hash}`),
  async 'end-session'({ page }) {
    const { token } = JSON.parse(await page.evaluate(() => sessionStorage.getItem('docket-session')!))
    await client.as(token).post('/auth/logout-all')
  },
  async 'sign-in'({ page }) {
    await page.waitForSelector('input[name="password"]')
    await page.type('input[name="email"]', people.eve!.email)
    await page.type('input[name="password"]', 'secret-1')
    await press(page, 'Enter')
  },
}

/** Sends a request of a person, for example `ada PATCH /tasks/$a {"title":"b"}`, or creates tasks: `ada creates 500`. */
async function request(person: Person, board: Board, text: string): Promise<void> {
  const [, method = '', path = '', body] = /^(\S+) (\S+)(?: (.*))?$/.exec(text)!
  if (method === 'creates') {
    const create = { op: 'task.create', title: 'Task' }
    await runBatch(person, board.ids.project!, Array(Number(path)).fill(create))
    return
  }
  const answer = await person.call(method, path, body && JSON.parse(body))
  if (answer.status >= 300) throw new Error(answer.text)
}

async function run(board: Board, script: string): Promise<void> {
  // The indented lines after `N times` are repeated.
  for (const [step, times, block] of script.matchAll(/^(?:(\d+) times\n((?:  .*\n)+)|.+\n)/gm)) {
    for (let n = 0; n < Number(times ?? 0); n++) await run(board, block!.replace(/^  /gm, ''))
    if (times) continue
    const line = step.trim()
    const given = line
      .replace(/@(\w)\b/g, (_, title: string) => card(board.ids[title]!))
      .replace(/\$(\w+)/g, (_, name: string) => board.ids[name]!)
    const [, verb = '', text = ''] = /^(\S+) ?(.*)$/.exec(given)!
    const work = steps[verb]?.(board, text) ?? request(people[verb]!, board, text)
    await work.catch((error) => {
      throw new Error(`${line}: ${error}`, { cause: error })
    })
  }
}

const scripts = read('test/browser/scripts/board.txt').text.split(/^## /m).slice(1)

test.each(scripts.map((text) => [text.slice(0, text.indexOf('\n')), text.slice(text.indexOf('\n') + 1)]))(
  '%s',
  async (_, script) => {
    const board = { ids: {}, sent: [] as string[] } as Board
    await run(board, script)
    // Rejected and lost requests are parts of the scripts.
    expect(board.faults.filter((fault) => !fault.startsWith('console: Failed to load'))).toEqual([])
  },
)
