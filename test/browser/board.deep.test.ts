import { eventually, forFile, freePort, freshEnv, invite, make, openClient, register } from '../kit.ts'
import { spawnService, words } from '../kit.ts'
import { card, columnsIn, columnsOf, makeBoard, openBoards, pickUp, pointIn, spoken } from './board.ts'
import { untilSays, untilShows } from './board.ts'
import { openBrowser } from './browser.ts'

interface Field {
  select(value: string): Promise<unknown>
}

const { env } = await forFile(freshEnv())
const port = await freePort()
let web = await spawnService('web', { ...env, PORT: String(port) })
await forFile({ close: () => web.stop() })
const { url } = web
const client = openClient(url)
const visit = await openBrowser()
const openBoard = openBoards(visit, url)
const [ada, bob] = [await register(client, 'Ada'), await register(client, 'Bob')]

test('the keyboard alone leads from the form to sign in to a moved card', async () => {
  const { page, faults } = await visit(`${url}/board`, 1280, 800)
  const press = async (...keys: Parameters<typeof page.keyboard.press>[0][]) => {
    for (const key of keys) await page.keyboard.press(key)
  }
  const tabTo = async (test: string) => {
    for (let n = 0; n < 30; n++) {
      await press('Tab')
      const found = await page.evaluate(
        (wanted) =>
          (
            document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.textContent
          )?.includes(wanted),
        test,
      )
      if (found) return
    }
    throw new Error(`No element ${test}`)
  }
  await tabTo('Create an account')
  await press('Enter')
  await page.waitForSelector('input[name="name"]')
  await page.focus('input[name="name"]')
  await page.keyboard.type('Grace')
  await press('Tab')
  await page.keyboard.type(`grace-${Date.now()}@example.com`)
  await press('Tab')
  await page.keyboard.type('correct horse')
  await press('Enter')
  await page.waitForSelector('.projects')
  await tabTo('New project')
  await press('Enter')
  await page.waitForSelector('input[name="name"]')
  await page.keyboard.type('Engine')
  await press('Enter')
  await page.waitForSelector('#columns')
  await press('n')
  await page.waitForSelector('.new textarea')
  for (const title of ['Draw', 'Cast']) {
    await page.keyboard.type(title)
    await press('Enter')
  }
  await page.waitForFunction(() => document.querySelectorAll('[data-task][aria-label^="#2"]').length === 1)
  await press('Escape', 'ArrowDown')
  await page.waitForFunction(() => document.activeElement?.getAttribute('aria-label') === '#1 Draw')
  await press('ArrowDown')
  await page.waitForFunction(() => document.activeElement?.getAttribute('aria-label') === '#2 Cast')
  await page.keyboard.down('Alt')
  await press('ArrowRight')
  await page.keyboard.up('Alt')
  await untilSays(page, 'moved to In progress, 1 of 1')
  const names = (status: string) =>
    page.$$eval(`[data-column="${status}"] [data-task]`, (all) => all.map((one) => one.ariaLabel))
  expect([await names('TODO'), await names('IN_PROGRESS')]).toEqual([['#1 Draw'], ['#2 Cast']])
  expect(await page.evaluate(() => document.activeElement?.getAttribute('aria-label'))).toBe('#2 Cast')
  await page.keyboard.down('Control')
  await press('z')
  await page.keyboard.up('Control')
  await untilSays(page, 'Undone: the move of #2')
  await page.waitForFunction(() => document.querySelectorAll('[data-column="TODO"] [data-task]').length === 2)
  await page.focus('[aria-label="#2 Cast"]')
  await press('Tab', 'Enter')
  await page.waitForSelector('[role="menu"]')
  await press('End', 'Enter')
  await untilSays(page, '#2 Cast was deleted')
  await page.waitForFunction(() => document.activeElement?.getAttribute('aria-label') === '#1 Draw')
  expect(faults).toEqual([])
})

test('one drag sends one PATCH with the status and a neighbour, and shows the card there at once', async () => {
  const { projectId, ids } = await makeBoard(ada, words('one two three'))
  const [one, two, three] = ids as [string, string, string]
  await ada.patch(`/tasks/${three}`, { status: 'DONE' })
  const { page, faults } = await openBoard(ada, projectId)
  const sent: { url: string; body: unknown; key: string | undefined }[] = []
  page.on('request', (request) => {
    if (request.method() === 'PATCH')
      sent.push({
        url: request.url(),
        body: JSON.parse(request.postData()!),
        key: request.headers()['idempotency-key'],
      })
  })
  await pickUp(page, one)
  const { x, y } = await pointIn(page, card(three), 0.5, 0.2)
  await page.mouse.move(x, y, { steps: 5 })
  await page.mouse.up()
  expect(await columnsIn(page)).toEqual({ TODO: [two], IN_PROGRESS: [], DONE: [one, three] })
  await eventually('the move', async () => (await columnsOf(ada, projectId)).DONE[0] === one)
  expect(sent).toEqual([
    {
      url: `${url}/api/v1/tasks/${one}`,
      body: { status: 'DONE', before: three },
      key: expect.stringMatching(/^[0-9a-f-]{36}$/),
    },
  ])
  await pickUp(page, one)
  await page.keyboard.press('n')
  await page.keyboard.press('Escape')
  await untilSays(page, 'The card is back in its place')
  await page.mouse.up()
  expect(sent.length).toBe(1)
  expect(faults).toEqual([])
})

test('a drag survives 50 changes of others, also of its own card, and a missing neighbour means the end of the column', async () => {
  const { projectId, ids } = await makeBoard(ada, words('a b c d e f'))
  await invite(ada, projectId, bob, 'EDITOR')
  const [dragged, near, ...others] = ids as [string, string, ...string[]]
  for (const id of [near, ...others]) await ada.patch(`/tasks/${id}`, { status: 'IN_PROGRESS' })
  const { page, faults } = await openBoard(ada, projectId)
  await pickUp(page, dragged)
  const { x, y } = await pointIn(page, card(near), 0.5, 0.2)
  await page.mouse.move(x, y, { steps: 5 })
  for (let n = 0; n < 48; n++)
    await bob.patch(`/tasks/${others[n % 4]}`, {
      status: n % 3 ? 'IN_PROGRESS' : 'DONE',
      place: n % 2 ? 'first' : 'last',
    })
  await bob.patch(`/tasks/${dragged}`, { title: 'Renamed', status: 'DONE' })
  await bob.delete(`/tasks/${near}`)
  await page.waitForFunction(
    (selector) => !document.querySelector(selector),
    { polling: 50 },
    `${card(near)}`,
  )
  expect(await page.$('.ghost')).not.toBeNull()
  await page.mouse.up()
  await untilSays(page, 'is now at the end of In progress')
  await eventually('the move', async () => (await columnsOf(ada, projectId)).IN_PROGRESS.at(-1) === dragged)
  await untilShows(page, await columnsOf(ada, projectId))
  expect(faults).toEqual([])
})

test('a finger drags a card that it holds, also after others have moved the card, and else scrolls', async () => {
  const { projectId, ids } = await makeBoard(ada, words('a b c d e f g h i j k l'))
  const { page } = await openBoard(ada, projectId, { width: 390, height: 844 })
  await page.setViewport({ width: 390, height: 844, hasTouch: true, isMobile: true })
  await page.waitForSelector(card(ids[0]!))
  const touch = page.touchscreen
  const { x, y } = await pointIn(page, card(ids[2]!))
  await touch.touchStart(x, y)
  await page.waitForSelector('.ghost')
  await ada.patch(`/tasks/${ids[2]}`, { status: 'DONE' })
  await page.waitForSelector(`[data-column="DONE"] ${card(ids[2]!)}`)
  const target = await pointIn(page, card(ids[0]!), 0.5, 0.2)
  for (let n = 1; n <= 10; n++)
    await touch.touchMove(x + ((target.x - x) * n) / 10, y + ((target.y - y) * n) / 10)
  await touch.touchEnd()
  await eventually('the move', async () => (await columnsOf(ada, projectId)).TODO[0] === ids[2])
  await untilShows(page, await columnsOf(ada, projectId))
  const held = await pointIn(page, card(ids[6]!))
  await touch.touchStart(held.x, held.y)
  await page.waitForSelector('.ghost')
  await touch.touchMove(385, held.y)
  await page.waitForFunction(
    () => document.querySelector('[data-column="DONE"]')!.getBoundingClientRect().right < 390,
  )
  await touch.touchMove(300, held.y)
  await touch.touchEnd()
  await eventually('the move', async () => (await columnsOf(ada, projectId)).DONE.includes(ids[6]!))
  await untilShows(page, await columnsOf(ada, projectId))
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
  const { projectId, ids } = await makeBoard(ada, words('a b c'))
  const { page } = await openBoard(ada, projectId)
  await page.evaluate(() => Object.assign(globalThis, { isSamePage: true }))
  const before = Number((await ada.get(`/projects/${projectId}`)).headers.get('docket-version'))
  await pickUp(page, ids[0]!)
  await web.stop('SIGKILL')
  await page.waitForSelector('#offline-band')
  const { x, y } = await pointIn(page, '[data-column="DONE"] .cards', 0.5, 0.3)
  await page.mouse.move(x, y, { steps: 5 })
  await page.mouse.up()
  await page.waitForSelector(`[data-column="DONE"] ${card(ids[0]!)}`)
  for (let n = 0; n < 3; n++) {
    await page.focus(card(ids[1]!))
    await page.keyboard.down('Alt')
    await page.keyboard.press(n % 2 ? 'ArrowLeft' : 'ArrowRight')
    await page.keyboard.up('Alt')
  }
  expect(await page.$eval('#offline-band', (one) => one.textContent)).toContain('4 of your changes wait')
  web = await spawnService('web', { ...env, PORT: String(port) })
  await page.waitForFunction(() => !document.querySelector('#offline-band'))
  await eventually('the moves', async () => {
    const { body } = await ada.get(`/projects/${projectId}/events?after=${before}`)
    return body.length === 4
  })
  expect((await columnsOf(ada, projectId)).DONE).toEqual([ids[0]!])
  await untilShows(page, await columnsOf(ada, projectId))
  await make(ada, '/tasks', { projectId, title: 'later' })
  await page.waitForSelector('[data-task][aria-label="#4 later"]')
  expect(await page.evaluate(() => 'isSamePage' in globalThis)).toBe(true)
})

test('if later changes prevent an undo, its message names them and their authors', async () => {
  const { projectId, ids } = await makeBoard(ada, words('a b'))
  await invite(ada, projectId, bob, 'EDITOR')
  const { page, faults } = await openBoard(ada, projectId)
  const carry = async (id: string) => {
    await page.focus(card(id))
    await page.keyboard.down('Alt')
    await page.keyboard.press('ArrowRight')
    await page.keyboard.up('Alt')
  }
  await carry(ids[0]!)
  await carry(ids[1]!)
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
  const { projectId, ids } = await makeBoard(ada, words('a b'))
  const [first, second] = ids as [string, string]
  const { page, faults } = await openBoard(ada, projectId)
  const before = (await ada.get(`/tasks/${first}`)).body
  await page.click(card(first))
  await page.waitForSelector('.history li')
  const add = async (label: string, text: string, shown: string) => {
    await page.type(`[aria-label="${label}"]`, text)
    await page.keyboard.press('Enter')
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
  await page.$eval('.fields input', (one) => {
    ;(one as HTMLInputElement).value = '2031-05-01'
    one.dispatchEvent(new Event('change', { bubbles: true }))
  })
  const read = async () => (await ada.get(`/tasks/${first}`)).body
  await eventually('the due date', async () => (await read()).dueDate === '2031-05-01T00:00:00.000Z')
  const task = await read()
  expect(task).toMatchObject({
    status: 'IN_PROGRESS',
    priority: 'HIGH',
    assigneeId: ada.id,
    blockedByIds: [second],
  })
  expect((await ada.get(`/tasks/${first}/subtasks`)).body).toMatchObject([{ completed: true }])
  const { length } = (await ada.get(`/projects/${projectId}/events?after=3`)).body
  expect(length).toBe(10)
  for (let undone = 1; undone <= length; undone++) {
    await page.click('#undo')
    await eventually(
      'an undo',
      async () => (await ada.get(`/projects/${projectId}/events?after=${3 + length}`)).body.length === undone,
    )
  }
  expect(await read()).toEqual({ ...before, updatedAt: expect.any(String) })
  await page.waitForFunction(() => document.querySelectorAll('.rows li, .comments li').length === 0)
  expect(faults).toEqual([])
})

test('without a connection 50 changes wait, and the next one is refused', async () => {
  const { projectId, ids } = await makeBoard(ada, words('a b'))
  const { page } = await openBoard(ada, projectId)
  const before = Number((await ada.get(`/projects/${projectId}`)).headers.get('docket-version'))
  await page.setOfflineMode(true)
  await page.waitForSelector('#offline-band')
  await page.focus(card(ids[0]!))
  await page.keyboard.down('Alt')
  for (let n = 0; n < 51; n++) await page.keyboard.press(n % 2 ? 'ArrowLeft' : 'ArrowRight')
  await page.keyboard.up('Alt')
  await untilSays(page, '50 changes wait for the connection already')
  expect(await page.$eval('#offline-band', (one) => one.textContent)).toContain('50 of your changes wait')
  await page.setOfflineMode(false)
  await page.waitForFunction(() => !document.querySelector('#offline-band'))
  await eventually(
    'all moves',
    async () => (await ada.get(`/projects/${projectId}/events?after=${before}`)).body.length === 50,
  )
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
  const { projectId, ids } = await makeBoard(ada, words('a b'))
  const [first, second] = ids as [string, string]
  await invite(ada, projectId, bob, 'EDITOR')
  const label = await make(ada, `/projects/${projectId}/labels`, { name: 'bug' })
  await ada.patch(`/tasks/${first}`, { blockedByIds: [second], assigneeId: bob.id })
  await ada.patch(`/tasks/${second}`, { labelIds: [label.id] })
  const { page } = await openBoard(ada, projectId)
  const versionOf = async () =>
    Number((await ada.get(`/projects/${projectId}`)).headers.get('docket-version'))
  /** Compares the cards as soon as the board shows the current version. */
  const expectDetails = async (...expected: string[]) => {
    const version = String(await versionOf())
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
  const deletion = await versionOf()
  await ada.patch(`/tasks/${second}`, { status: 'DONE' })
  await expectDetails('B', '')
  await ada.post(`/projects/${projectId}/undo`, { seq: deletion })
  await expectDetails('B', 'defect')
  await ada.patch(`/tasks/${first}`, { assigneeId: null })
  await expectDetails('', 'defect')
})
