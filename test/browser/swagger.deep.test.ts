import { setDefaultTimeout } from 'bun:test'
import type { Page } from 'puppeteer-core'
import { openWebProcess, words } from '../kit.ts'
import { execute, openBrowser, seriousFindings } from './browser.ts'

setDefaultTimeout(300_000)

const { web } = await openWebProcess({})
const visit = await openBrowser()
const docs = `${web.url}/api/docs`

const clickAll = (page: Page, selector: string) =>
  page.$$eval(selector, (all) => {
    for (const one of all) (one as HTMLElement).click()
  })

test.each([
  [1280, 800, 1],
  [390, 844, 2],
])(
  '%d pixels wide: a visitor can register, create a task and undo by clicks, near the top',
  async (width, height, screenCount) => {
    const here = await visit(docs, width, height)
    const { page, faults } = here
    for (const selector of ['.btn.authorize', '.opblock']) {
      const bottom = await page.$eval(selector, (one) => one.getBoundingClientRect().bottom)
      expect(bottom).toBeLessThan(height * screenCount)
    }
    const created = words('register createProject createTask createSubtask createComment')
    for (const step of [...created, ...words('undoProject listTasks getTask')]) {
      const { status } = await execute(here, step)
      expect([step, status]).toEqual([step, created.includes(step) ? 201 : 200])
    }
    expect(await page.$eval('#signed-in', (one) => one.textContent)).toContain('Signed in as ada-')
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
    expect(faults).toEqual([])
  },
)

test('the pages and four executed operations have no serious accessibility finding', async () => {
  for (const path of ['/', '/api/docs/guides/feed']) {
    const { page, faults } = await visit(web.url + path, 1280, 800)
    expect([path, await seriousFindings(page), faults]).toEqual([path, [], []])
  }
  const here = await visit(docs, 1280, 800)
  const { page } = here
  for (const step of words('register createProject createTask listTasks')) await execute(here, step)
  await clickAll(page, '.opblock.is-open details.responses > summary')
  await clickAll(page, '.opblock.is-open .tablinks[data-name="model"]')
  await page.waitForSelector('.opblock.is-open .json-schema-2020-12-expand-deep-button')
  await clickAll(page, '.opblock.is-open .json-schema-2020-12-expand-deep-button')
  expect(await seriousFindings(page)).toEqual([])
  expect(here.faults).toEqual([])
})

test('an opened operation is at most two screens high while its responses are collapsed, and no name of a parameter breaks', async () => {
  const { page } = await visit(docs, 1280, 800)
  // One group is open at a time, because the page renders all open groups again at each click.
  await clickAll(page, '.opblock-tag')
  const found: [what: string, size: number, limit: number][] = []
  for (const group of await page.$$('.opblock-tag')) {
    await page.setViewport({ width: 1280, height: 800 })
    await group.evaluate((heading) => (heading as HTMLElement).click())
    await page.waitForSelector('.opblock')
    await clickAll(page, '.opblock-summary-control')
    await page.waitForSelector('.opblock:not(:has(details.responses))', { hidden: true })
    const heights = await page.$$eval('.opblock', (all) =>
      all.map((one) => [one.id, one.getBoundingClientRect().height, 1600] as (typeof found)[number]),
    )
    for (const width of [1280, 390]) {
      await page.setViewport({ width, height: 800 })
      const lines = await page.$$eval('.parameter__name', (all) =>
        all.map((one) => {
          const range = document.createRange()
          range.selectNodeContents(one.firstChild!)
          return [one.textContent, range.getClientRects().length, 1] as (typeof found)[number]
        }),
      )
      const shown = await page.evaluate(() => document.documentElement.scrollWidth)
      found.push(...lines, [`${width} pixels`, shown, width])
    }
    found.push(...heights)
    await group.evaluate((heading) => (heading as HTMLElement).click())
    await page.waitForSelector('.opblock', { hidden: true })
  }
  expect(found.length).toBeGreaterThan(100)
  expect(found.filter(([, size, limit]) => size > limit)).toEqual([])
})
