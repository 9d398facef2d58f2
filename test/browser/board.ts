import type { KeyInput, Page } from 'puppeteer-core'
import { type Client, eventually, forFile, freePort, freshEnv, invite, make, openClient } from '../kit.ts'
import { type Person, register, spawnService } from '../kit.ts'
import { openBrowser, type Visit } from './browser.ts'

export type Columns = Record<'TODO' | 'IN_PROGRESS' | 'DONE', string[]>

interface Window {
  width?: number
  height?: number
  isDark?: boolean
}

/** Starts a service and a browser, and registers two people. */
export async function openBoardScene() {
  const { env } = await forFile(freshEnv())
  const port = String(await freePort())
  const start = () => spawnService('web', { ...env, PORT: port })
  const state = { web: await start() }
  await forFile({ close: () => state.web.stop() })
  const { url } = state.web
  const client = openClient(url)
  const visit = await openBrowser()
  const [ada, bob] = [await register(client, 'Ada'), await register(client, 'Bob')]
  /** Opens the board of a project in a window of its own, for a person who is signed in. */
  async function openBoard(person: Person, projectId: string, window: Window = {}): Promise<Visit> {
    const { width = 1440, height = 900, isDark } = window
    const opened = await visit(`${url}/board`, width, height)
    const { page } = opened
    if (isDark) await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: 'dark' }])
    const { id, name, email } = (await person.get('/auth/me')).body
    const session = JSON.stringify({ token: person.token, user: { id, name, email } })
    await page.evaluate((text) => sessionStorage.setItem('docket-session', text), session)
    await page.goto(`${url}/board?signed-in#/projects/${projectId}`)
    await page.waitForSelector('#columns[aria-busy="false"]')
    return opened
  }
  /** Creates a project of both people with tasks, and returns its id and the ids of the tasks. */
  async function makeBoard(titles: string[], rest: object = {}) {
    const { id: projectId } = await make(ada, '/projects', { name: 'Analytical Engine' })
    const ids: string[] = []
    for (const title of titles) ids.push((await make(ada, '/tasks', { projectId, title, ...rest })).id)
    await invite(ada, projectId, bob, 'EDITOR')
    return { projectId, ids }
  }
  const kill = () => state.web.stop('SIGKILL')
  const restart = async () => void (state.web = await start())
  return { url, client, visit, ada, bob, openBoard, makeBoard, kill, restart }
}

export const columnsIn = (page: Page): Promise<Columns> =>
  page.evaluate(() => {
    const cards = (status: string) =>
      [...document.querySelectorAll<HTMLElement>(`[data-column="${status}"] [data-task]`)].map(
        ({ dataset }) => dataset.task!,
      )
    return { TODO: cards('TODO'), IN_PROGRESS: cards('IN_PROGRESS'), DONE: cards('DONE') }
  })

/** Returns the columns as the service orders the tasks. */
export async function columnsOf(person: Client, projectId: string, version?: number): Promise<Columns> {
  const columns: Columns = { TODO: [], IN_PROGRESS: [], DONE: [] }
  const at = version === undefined ? '' : `&asOf=${version}`
  const { body } = await person.get(`/tasks?projectId=${projectId}&sort=position&limit=200${at}`)
  for (const { id, status } of body) columns[status as keyof Columns].push(id)
  return columns
}

export const eventsAfter = async (person: Client, projectId: string, version: number) =>
  (await person.get(`/projects/${projectId}/events?after=${version}`)).body

/** Waits until the page shows these columns. The error of a time-out shows both. */
export async function untilShows(page: Page, expected: Columns): Promise<void> {
  const isShown = async () => JSON.stringify(await columnsIn(page)) === JSON.stringify(expected)
  await eventually('the columns', isShown).catch(async () => expect(await columnsIn(page)).toEqual(expected))
}

/** Waits until the message of the page contains a text. Invisible characters around names do not count. */
export const untilSays = (page: Page, text: string) =>
  page.waitForFunction(
    (wanted) => {
      const message = document.querySelector('[role="status"]')?.textContent ?? ''
      return message.replaceAll(/[\u2068\u2069]/g, '').includes(wanted)
    },
    { polling: 50 },
    text,
  )

export const textOf = (page: Page, selector: string): Promise<string> =>
  page.$eval(selector, (one) => (one.textContent ?? '').replaceAll(/[\u2068\u2069]/g, ''))

/** Returns a point inside an element, by shares of its width and height. */
export async function pointIn(page: Page, selector: string, across = 0.5, down = 0.5) {
  const element = await page.waitForSelector(selector)
  const { x, y, width, height } = (await element!.boundingBox())!
  return { x: x + width * across, y: y + height * down }
}

export const card = (id: string) => `[data-task="${id}"]`

/** Presses keys, for example `Escape Alt+ArrowDown`. */
export async function press(page: Page, keys: string): Promise<void> {
  for (const one of keys.split(' ')) {
    const [key, modifier] = one.split('+').reverse() as KeyInput[]
    if (modifier) await page.keyboard.down(modifier)
    await page.keyboard.press(key!)
    if (modifier) await page.keyboard.up(modifier)
  }
}

/** Presses the mouse on a card and moves it away, without a release. */
export async function pickUp(page: Page, selector: string): Promise<void> {
  const { x, y } = await pointIn(page, selector)
  await page.mouse.move(x, y)
  await page.mouse.down()
  await page.mouse.move(x + 3, y + 12, { steps: 3 })
  await page.waitForSelector('.ghost')
}

/** Moves the mouse to the upper part of an element. */
export async function moveOver(page: Page, selector: string): Promise<void> {
  const { x, y } = await pointIn(page, selector, 0.5, 0.2)
  await page.mouse.move(x, y, { steps: 5 })
}

/** Moves the slider of the past as a person does. */
export const slideTo = (page: Page, version: number) => setValue(page, '#past', String(version), 'input')

/** Sets the value of a field as a person does. */
export const setValue = (page: Page, selector: string, text: string, eventType: 'input' | 'change') =>
  page.$eval(
    selector,
    (field, value, type) => {
      ;(field as HTMLInputElement).value = value
      field.dispatchEvent(new Event(type, { bubbles: true }))
    },
    text,
    eventType,
  )
