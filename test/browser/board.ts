import type { Page } from 'puppeteer-core'
import { type Client, make, type Person } from '../kit.ts'
import type { Visit } from './browser.ts'

export type Columns = Record<'TODO' | 'IN_PROGRESS' | 'DONE', string[]>
type Open = (url: string, width: number, height: number) => Promise<Visit>

interface Window {
  width?: number
  height?: number
  isDark?: boolean
}

/** Returns a function that opens the board of a project in a window of its own, for a person who is signed in. */
export const openBoards =
  (visit: Open, url: string) =>
  async (
    person: Person,
    projectId: string,
    { width = 1440, height = 900, isDark }: Window = {},
  ): Promise<Visit> => {
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

/** Creates a project with tasks, and returns its id and the ids of the tasks. */
export async function makeBoard(person: Client, titles: string[], rest: object = {}) {
  const { id: projectId } = await make(person, '/projects', { name: 'Analytical Engine' })
  const ids: string[] = []
  for (const title of titles) ids.push((await make(person, '/tasks', { projectId, title, ...rest })).id)
  return { projectId, ids }
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

/** Waits until the page shows these columns. The error of a time-out shows both. */
export async function untilShows(page: Page, expected: Columns): Promise<void> {
  const shows = (text: string) => {
    const cards = (status: string) =>
      [...document.querySelectorAll<HTMLElement>(`[data-column="${status}"] [data-task]`)].map(
        ({ dataset }) => dataset.task,
      )
    return (
      JSON.stringify({ TODO: cards('TODO'), IN_PROGRESS: cards('IN_PROGRESS'), DONE: cards('DONE') }) === text
    )
  }
  await page.waitForFunction(shows, { polling: 50 }, JSON.stringify(expected)).catch(async () => {
    expect(await columnsIn(page)).toEqual(expected)
  })
}

export const untilSays = (page: Page, text: string) =>
  page.waitForFunction(
    (wanted) => document.querySelector('[role="status"]')?.textContent?.includes(wanted),
    { polling: 50 },
    text,
  )

export const spoken = (page: Page): Promise<string> =>
  page.$eval('[role="status"]', (one) => (one.textContent ?? '').replaceAll(/[\u2068\u2069]/g, ''))

/** Returns a point inside an element, by shares of its width and height. */
export async function pointIn(page: Page, selector: string, across = 0.5, down = 0.5) {
  const element = await page.waitForSelector(selector)
  const { x, y, width, height } = (await element!.boundingBox())!
  return { x: x + width * across, y: y + height * down }
}

export const card = (id: string) => `[data-task="${id}"]`

/** Presses the mouse on a card and moves it away, without a release. */
export async function pickUp(page: Page, id: string): Promise<void> {
  const { x, y } = await pointIn(page, card(id))
  await page.mouse.move(x, y)
  await page.mouse.down()
  await page.mouse.move(x + 3, y + 12, { steps: 3 })
  await page.waitForSelector('.ghost')
}

/** Moves the slider of the past as a person does. */
export const slideTo = (page: Page, version: number) =>
  page.$eval(
    '#past',
    (slider, value) => {
      ;(slider as HTMLInputElement).value = String(value)
      slider.dispatchEvent(new Event('input', { bubbles: true }))
    },
    version,
  )
