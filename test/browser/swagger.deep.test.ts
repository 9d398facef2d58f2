import type { Page } from 'puppeteer-core'
import { forFile, freshEnv, spawnService } from '../kit.ts'
import { execute, openBrowser, seriousFindings } from './browser.ts'

const { env } = await forFile(freshEnv())
const { url } = await forFile(spawnService('start', env))
const visit = await openBrowser()
const screens = [
  ['1280 pixels wide', 1280, 800, 1],
  ['390 pixels wide', 390, 844, 2],
] as const

test.each(screens)(
  '%s: a visitor can register, create a task and undo by clicks',
  async (_, width, height) => {
    const here = await visit(`${url}/api/docs`, width, height)
    const created = ['register', 'createProject', 'createTask', 'createSubtask', 'createComment']
    const steps = [...created, 'undoProject', 'listTasks', 'getTask']
    const answers = []
    for (const step of steps) answers.push([step, (await execute(here, step)).status])
    expect(answers).toEqual(steps.map((step) => [step, created.includes(step) ? 201 : 200]))
    expect(await here.page.$eval('#signed-in', (one) => one.textContent)).toContain('Signed in as ada-')
    expect(here.faults).toEqual([])
  },
)

test.each(screens)(
  '%s: Authorize and an operation are near the top',
  async (_, width, height, screenCount) => {
    const { page, faults } = await visit(`${url}/api/docs`, width, height)
    const bottomOf = (selector: string) => page.$eval(selector, (one) => one.getBoundingClientRect().bottom)
    for (const selector of ['.btn.authorize', '.opblock'])
      expect(await bottomOf(selector)).toBeLessThan(height * screenCount)
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
    expect(faults).toEqual([])
  },
)

test.each(['/', '/api/docs', '/api/docs/guides/feed'])(
  '%s has no serious accessibility finding',
  async (path) => {
    const { page, faults } = await visit(url + path, 1280, 800)
    expect(await seriousFindings(page)).toEqual([])
    expect(faults).toEqual([])
  },
)

test('four executed operations have no serious accessibility finding', async () => {
  const here = await visit(`${url}/api/docs`, 1280, 800)
  const { page } = here
  for (const step of ['register', 'createProject', 'createTask', 'listTasks']) await execute(here, step)
  expect(await seriousFindings(page)).toEqual([])
  const height = await page.$eval('[id$="-createTask"]', (one) => one.getBoundingClientRect().height)
  expect(height).toBeLessThanOrEqual(1600)
  await clickAll(page, '.opblock.is-open details.responses > summary')
  await clickAll(page, '.opblock.is-open .tablinks[data-name="model"]')
  await page.waitForSelector('.opblock.is-open .json-schema-2020-12-expand-deep-button')
  await clickAll(page, '.opblock.is-open .json-schema-2020-12-expand-deep-button')
  expect(await seriousFindings(page)).toEqual([])
  expect(here.faults).toEqual([])
})

test.each(screens)('%s: no name of a parameter breaks', async (_, width, height) => {
  const { page } = await visit(`${url}/api/docs`, width, height)
  await clickAll(page, '.opblock-summary-control')
  await page.waitForFunction(() => !document.querySelector('.opblock:not(:has(details.responses))'))
  const broken = await page.$$eval('.parameter__name', (all) =>
    all.map((one) => {
      const range = document.createRange()
      range.selectNodeContents(one.firstChild!)
      return [one.textContent, range.getClientRects().length] as const
    }),
  )
  expect(broken.length).toBeGreaterThan(20)
  expect(broken.filter(([, lines]) => lines > 1)).toEqual([])
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
})

test('an opened operation is at most two screens high while its responses are collapsed', async () => {
  const { page } = await visit(`${url}/api/docs`, 1280, 800)
  // One group is open at a time, because the page renders all open groups again at each click.
  await clickAll(page, '.opblock-tag')
  const tooHigh: string[] = []
  let measured = 0
  for (const group of await page.$$('.opblock-tag')) {
    await group.evaluate((heading) => (heading as HTMLElement).click())
    await page.waitForSelector('.opblock')
    await clickAll(page, '.opblock-summary-control')
    await page.waitForFunction(() => !document.querySelector('.opblock:not(:has(details.responses))'))
    const blocks = await page.$$eval('.opblock', (all) =>
      all.map((block) => ({ id: block.id, height: block.getBoundingClientRect().height })),
    )
    measured += blocks.length
    tooHigh.push(...blocks.filter(({ height }) => height > 1600).map(({ id, height }) => `${id}: ${height}`))
    await group.evaluate((heading) => (heading as HTMLElement).click())
    await page.waitForFunction(() => !document.querySelector('.opblock'))
  }
  expect(measured).toBeGreaterThan(50)
  expect(tooHigh).toEqual([])
})

const clickAll = (page: Page, selector: string) =>
  page.$$eval(selector, (all) => {
    for (const one of all) (one as HTMLElement).click()
  })
