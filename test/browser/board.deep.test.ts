import { eventually, make, versionOf, words } from '../kit.ts'
import { card, carry, type Columns, columnsIn, columnsOf, eventsAfter, moveOver } from './board.ts'
import {
  openBoardScene,
  pickUp,
  pointIn,
  press,
  pressWith,
  setValue,
  spoken,
  textOf,
  untilSays,
  untilShows,
} from './board.ts'

interface Field {
  select(value: string): Promise<unknown>
}

const { url, visit, ada, bob, openBoard, makeBoard, kill, restart } = await openBoardScene()

test('the keyboard alone leads from the form to sign in to a moved card', async () => {
  const { page, faults } = await visit(`${url}/board`, 1280, 800)
  const tabTo = async (test: string) => {
    for (let n = 0; n < 30; n++) {
      await press(page, 'Tab')
      const focused = await page.$eval(':focus', (one) => one.getAttribute('aria-label') ?? one.textContent)
      if (focused?.includes(test)) return
    }
    throw new Error(`No element ${test}`)
  }
  /** Types texts, each of which ends with a key, and waits for an element. */
  const type = async (shown: string, ...texts: [text: string, key: 'Tab' | 'Enter'][]) => {
    for (const [text, key] of texts) {
      await page.keyboard.type(text)
      await press(page, key)
    }
    await page.waitForSelector(shown)
  }
  await tabTo('Create an account')
  await type('input[name="name"]', ['', 'Enter'])
  await page.focus('input[name="name"]')
  const email = `grace-${Date.now()}@example.com`
  await type('.projects', ['Grace', 'Tab'], [email, 'Tab'], ['correct horse', 'Enter'])
  await tabTo('New project')
  await type('input[name="name"]', ['', 'Enter'])
  await type('#columns', ['Engine', 'Enter'])
  await press(page, 'n')
  await page.waitForSelector('.new textarea')
  await type('[data-task][aria-label^="#2"]', ['Draw', 'Enter'], ['Cast', 'Enter'])
  await press(page, 'Escape', 'ArrowDown')
  await page.waitForSelector('[aria-label="#1 Draw"]:focus')
  await press(page, 'ArrowDown')
  await page.waitForSelector('[aria-label="#2 Cast"]:focus')
  await pressWith(page, 'Alt', 'ArrowRight')
  await untilSays(page, 'moved to In progress, 1 of 1')
  await page.waitForSelector('[data-column="IN_PROGRESS"] [aria-label="#2 Cast"]:focus')
  expect(await page.$('[data-column="TODO"] [aria-label="#1 Draw"]')).not.toBeNull()
  await pressWith(page, 'Control', 'z')
  await untilSays(page, 'Undone: the move of #2')
  await page.waitForSelector('[data-column="TODO"] [aria-label="#2 Cast"]')
  await page.focus('[aria-label="#2 Cast"]')
  await press(page, 'Tab', 'Enter')
  await page.waitForSelector('[role="menu"]')
  await press(page, 'End', 'Enter')
  await untilSays(page, '#2 Cast was deleted')
  await page.waitForSelector('[aria-label="#1 Draw"]:focus')
  expect(faults).toEqual([])
})

test('one drag sends one PATCH with the status and a neighbour, and shows the card there at once', async () => {
  const { projectId, ids } = await makeBoard(words('one two three'))
  const [one, two, three] = ids as [string, string, string]
  await ada.patch(`/tasks/${three}`, { status: 'DONE' })
  const { page, faults } = await openBoard(ada, projectId)
  const sent: unknown[] = []
  page.on('request', (request) => {
    if (request.method() === 'PATCH')
      sent.push([request.url(), request.postData(), request.headers()['idempotency-key']])
  })
  await pickUp(page, one)
  await moveOver(page, card(three))
  await page.mouse.up()
  expect(await columnsIn(page)).toEqual({ TODO: [two], IN_PROGRESS: [], DONE: [one, three] })
  await eventually('the move', async () => (await columnsOf(ada, projectId)).DONE[0] === one)
  const body = JSON.stringify({ status: 'DONE', before: three })
  expect(sent).toEqual([[`${url}/api/v1/tasks/${one}`, body, expect.stringMatching(/^[0-9a-f-]{36}$/)]])
  await pickUp(page, one)
  await press(page, 'n', 'Escape')
  await untilSays(page, 'The card is back in its place')
  await page.mouse.up()
  expect(sent.length).toBe(1)
  expect(faults).toEqual([])
})

test('a drag survives 50 changes of others, also of its own card, and a missing neighbour means the end of the column', async () => {
  const { projectId, ids } = await makeBoard(words('a b c d e f'))
  const [dragged, near, ...others] = ids as [string, string, ...string[]]
  for (const id of [near, ...others]) await ada.patch(`/tasks/${id}`, { status: 'IN_PROGRESS' })
  const { page, faults } = await openBoard(ada, projectId)
  await pickUp(page, dragged)
  await moveOver(page, card(near))
  for (let n = 0; n < 48; n++)
    await bob.patch(`/tasks/${others[n % 4]}`, {
      status: n % 3 ? 'IN_PROGRESS' : 'DONE',
      place: n % 2 ? 'first' : 'last',
    })
  await bob.patch(`/tasks/${dragged}`, { title: 'Renamed', status: 'DONE' })
  await bob.delete(`/tasks/${near}`)
  await page.waitForSelector(card(near), { hidden: true })
  expect(await page.$('.ghost')).not.toBeNull()
  await page.mouse.up()
  await untilSays(page, 'is now at the end of In progress')
  await eventually('the move', async () => (await columnsOf(ada, projectId)).IN_PROGRESS.at(-1) === dragged)
  await untilShows(page, await columnsOf(ada, projectId))
  expect(faults).toEqual([])
})

test('a finger drags a card that it holds, also after others have moved the card, and else scrolls', async () => {
  const { projectId, ids } = await makeBoard(words('a b c d e f g h i j k l'))
  const { page } = await openBoard(ada, projectId, { width: 390, height: 844 })
  await page.setViewport({ width: 390, height: 844, hasTouch: true, isMobile: true })
  await page.waitForSelector(card(ids[0]!))
  const touch = page.touchscreen
  const hold = async (id: string) => {
    const { x, y } = await pointIn(page, card(id))
    await touch.touchStart(x, y)
    await page.waitForSelector('.ghost')
    return { x, y }
  }
  const untilMoved = async (isMoved: (columns: Columns) => boolean) => {
    await eventually('the move', async () => isMoved(await columnsOf(ada, projectId)))
    await untilShows(page, await columnsOf(ada, projectId))
  }
  const { x, y } = await hold(ids[2]!)
  await ada.patch(`/tasks/${ids[2]}`, { status: 'DONE' })
  await page.waitForSelector(`[data-column="DONE"] ${card(ids[2]!)}`)
  const target = await pointIn(page, card(ids[0]!), 0.5, 0.2)
  for (let n = 1; n <= 10; n++)
    await touch.touchMove(x + ((target.x - x) * n) / 10, y + ((target.y - y) * n) / 10)
  await touch.touchEnd()
  await untilMoved(({ TODO }) => TODO[0] === ids[2])
  const held = await hold(ids[6]!)
  await touch.touchMove(385, held.y)
  await page.waitForFunction(
    () => document.querySelector('[data-column="DONE"]')!.getBoundingClientRect().right < 390,
  )
  await touch.touchMove(300, held.y)
  await touch.touchEnd()
  await untilMoved(({ DONE }) => DONE.includes(ids[6]!))
  await page.$eval('#columns', (one) => one.scrollTo(0, 0))
  const { TODO } = await columnsOf(ada, projectId)
  const first = await pointIn(page, card(ids[4]!))
  await touch.touchStart(first.x, first.y)
  for (let n = 1; n < 8; n++) await touch.touchMove(first.x, first.y - 30 * n)
  await touch.touchEnd()
  await page.waitForFunction(() => document.querySelector('[data-column="TODO"] .cards')!.scrollTop > 20)
  expect((await columnsOf(ada, projectId)).TODO).toEqual(TODO)
})

test('when the web process is killed in the middle of a drag, the card moves once after the return, without a reload', async () => {
  const { projectId, ids } = await makeBoard(words('a b c'))
  const { page } = await openBoard(ada, projectId)
  await page.evaluate(() => Object.assign(globalThis, { isSamePage: true }))
  const before = await versionOf(ada, projectId)
  await pickUp(page, ids[0]!)
  await kill()
  await page.waitForSelector('#offline-band')
  await moveOver(page, '[data-column="DONE"] .cards')
  await page.mouse.up()
  await page.waitForSelector(`[data-column="DONE"] ${card(ids[0]!)}`)
  await carry(page, ids[1]!, 'ArrowRight', 'ArrowLeft', 'ArrowRight')
  expect(await textOf(page, '#offline-band')).toContain('4 of your changes wait')
  await restart()
  await page.waitForSelector('#offline-band', { hidden: true })
  await eventually('the moves', async () => (await eventsAfter(ada, projectId, before)).length === 4)
  expect((await columnsOf(ada, projectId)).DONE).toEqual([ids[0]!])
  await untilShows(page, await columnsOf(ada, projectId))
  await make(ada, '/tasks', { projectId, title: 'later' })
  await page.waitForSelector('[data-task][aria-label="#4 later"]')
  expect(await page.evaluate(() => 'isSamePage' in globalThis)).toBe(true)
})

test('if later changes prevent an undo, its message names them and their authors', async () => {
  const { projectId, ids } = await makeBoard(words('a b'))
  const { page, faults } = await openBoard(ada, projectId)
  await carry(page, ids[0]!, 'ArrowRight')
  await carry(page, ids[1]!, 'ArrowRight')
  await eventually('both moves', async () => (await columnsOf(ada, projectId)).TODO.length === 0)
  await bob.patch(`/tasks/${ids[1]}`, { status: 'DONE' })
  await bob.patch(`/tasks/${ids[0]}`, { title: 'Renamed' })
  await page.waitForSelector('[aria-label="#1 Renamed"]')
  await page.click('#undo')
  await untilSays(page, 'Later changes are in the way')
  expect(await spoken(page)).toMatch(
    /^Not undone: the move of #2 b\. Later changes are in the way: Bob changed #2 b to Done \(change \d+\)\.$/,
  )
  await page.click('#undo')
  await untilSays(page, 'Undone: the move of #1')
  await untilShows(page, { TODO: [ids[0]!], IN_PROGRESS: [], DONE: [ids[1]!] })
  expect(faults.filter((fault) => !fault.includes('409'))).toEqual([])
})

test('an opened card changes every part of its task, and each change can be undone', async () => {
  const { projectId, ids } = await makeBoard(words('a b'))
  const [first, second] = ids as [string, string]
  const { page, faults } = await openBoard(ada, projectId)
  const before = (await ada.get(`/tasks/${first}`)).body
  const version = await versionOf(ada, projectId)
  await page.click(card(first))
  await page.waitForSelector('.history li')
  const add = async (label: string, text: string, shown: string) => {
    await page.type(`[aria-label="${label}"]`, text)
    await press(page, 'Enter')
    await page.waitForSelector(shown)
  }
  await add('New subtask', 'Sharpen the pencil', '.rows input')
  await page.click('.rows input')
  await page.waitForSelector('.rows .done')
  await add('New comment', 'In brass', '.comments li')
  await add('New label', 'bug', '.labels [aria-pressed="true"]')
  await add('Task number, such as #42', '#2', '.rows .link')
  await page.$eval('.fields select:last-child', (one) => one.scrollIntoView())
  const [status, priority, assignee] = (await page.$$('.fields select')) as Field[] as [Field, Field, Field]
  await status.select('IN_PROGRESS')
  await priority.select('HIGH')
  await assignee.select(ada.id)
  await setValue(page, '.fields input', '2031-05-01', 'change')
  const read = async () => (await ada.get(`/tasks/${first}`)).body
  await eventually('the due date', async () => (await read()).dueDate === '2031-05-01T00:00:00.000Z')
  const changed = { status: 'IN_PROGRESS', priority: 'HIGH', assigneeId: ada.id, blockedByIds: [second] }
  expect(await read()).toMatchObject(changed)
  expect((await ada.get(`/tasks/${first}/subtasks`)).body).toMatchObject([{ completed: true }])
  const changes = 10
  for (let undone = 0; undone <= changes; undone++) {
    if (undone > 0) await page.click('#undo')
    const expected = changes + undone
    await eventually('an undo', async () => (await eventsAfter(ada, projectId, version)).length === expected)
  }
  expect(await read()).toEqual({ ...before, updatedAt: expect.any(String) })
  await page.waitForFunction(() => document.querySelectorAll('.rows li, .comments li').length === 0)
  expect(faults).toEqual([])
})

test('without a connection 50 changes wait, and the next one is refused', async () => {
  const { projectId, ids } = await makeBoard(words('a b'))
  const { page } = await openBoard(ada, projectId)
  const before = await versionOf(ada, projectId)
  await page.setOfflineMode(true)
  await page.waitForSelector('#offline-band')
  const keys = Array.from({ length: 51 }, (_, n) => (n % 2 ? ('ArrowLeft' as const) : 'ArrowRight'))
  await carry(page, ids[0]!, ...keys)
  await untilSays(page, '50 changes wait for the connection already')
  expect(await textOf(page, '#offline-band')).toContain('50 of your changes wait')
  await page.setOfflineMode(false)
  await page.waitForSelector('#offline-band', { hidden: true })
  await eventually('all moves', async () => (await eventsAfter(ada, projectId, before)).length === 50)
  await untilShows(page, { TODO: ids, IN_PROGRESS: [], DONE: [] })
  await page.click('a.back')
  await page.waitForSelector(`.project-list [href$="${projectId}"]`)
  await page.setOfflineMode(true)
  await page.click(`.project-list [href$="${projectId}"]`)
  await page.waitForSelector('[aria-busy="true"] #offline-band')
  await page.setOfflineMode(false)
  await untilShows(page, { TODO: ids, IN_PROGRESS: [], DONE: [] })
})

test('cards follow their labels, blockers and assignees, also when an undo restores what was deleted', async () => {
  const { projectId, ids } = await makeBoard(words('a b'))
  const [first, second] = ids as [string, string]
  const label = await make(ada, `/projects/${projectId}/labels`, { name: 'bug' })
  await ada.patch(`/tasks/${first}`, { blockedByIds: [second], assigneeId: bob.id })
  await ada.patch(`/tasks/${second}`, { labelIds: [label.id] })
  const { page } = await openBoard(ada, projectId)
  /** Compares the cards as soon as the board shows the current version. */
  const expectDetails = async (...expected: string[]) => {
    const version = String(await versionOf(ada, projectId))
    const isShown = (max: string) => document.querySelector<HTMLInputElement>('#past')?.max === max
    await page.waitForFunction(isShown, { polling: 50 }, version)
    const details = await page.$$eval('.details', (all) => all.map((one) => one.textContent))
    expect([version, ...details]).toEqual([version, ...expected])
  }
  await expectDetails('blockedB', 'bug')
  await ada.patch(`/labels/${label.id}`, { name: 'defect' })
  await expectDetails('blockedB', 'defect')
  await ada.delete(`/labels/${label.id}`)
  await expectDetails('blockedB', '')
  const deletion = await versionOf(ada, projectId)
  await ada.patch(`/tasks/${second}`, { status: 'DONE' })
  await expectDetails('B', '')
  await ada.post(`/projects/${projectId}/undo`, { seq: deletion })
  await expectDetails('B', 'defect')
  await ada.patch(`/tasks/${first}`, { assigneeId: null })
  await expectDetails('', 'defect')
})
