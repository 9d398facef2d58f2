import { setDefaultTimeout } from 'bun:test'
import type { Page } from 'puppeteer-core'
import { forFile, freshEnv, spawnService, words } from '../kit.ts'
import { execute, openBrowser, seriousFindings } from './browser.ts'

setDefaultTimeout(300_000)

const { env } = await forFile(freshEnv())
const { url } = await forFile(spawnService('start', env))
const visit = await openBrowser()

const clickAll = (page: Page, selector: string) =>
  page.$$eval(selector, (all) => {
    for (const one of all) (one as HTMLElement).click()
  })
const untilOpened = (page: Page) =>
  page.waitForSelector('.opblock:not(:has(details.responses))', { hidden: true })

const screens = [
  ['1280 pixels wide', 1280, 800, 1],
  ['390 pixels wide', 390, 844, 2],
] as const

test.each(screens)(
  '%s: a visitor can register, create a task and undo by clicks, near the top',
  async (_, width, height, screenCount) => {
    const here = await visit(`${url}/api/docs`, width, height)
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

test.each(screens)('%s: no name of a parameter breaks', async (_, width, height) => {
  const { page } = await visit(`${url}/api/docs`, width, height)
  await clickAll(page, '.opblock-summary-control')
  await untilOpened(page)
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

test('the pages and four executed operations have no serious accessibility finding', async () => {
  for (const path of ['/', '/api/docs/guides/feed', '/api/docs']) {
    const here = await visit(url + path, 1280, 800)
    const { page } = here
    expect([path, await seriousFindings(page)]).toEqual([path, []])
    if (path === '/api/docs') {
      for (const step of words('register createProject createTask listTasks')) await execute(here, step)
      expect(await seriousFindings(page)).toEqual([])
      await clickAll(page, '.opblock.is-open details.responses > summary')
      await clickAll(page, '.opblock.is-open .tablinks[data-name="model"]')
      await page.waitForSelector('.opblock.is-open .json-schema-2020-12-expand-deep-button')
      await clickAll(page, '.opblock.is-open .json-schema-2020-12-expand-deep-button')
      expect(await seriousFindings(page)).toEqual([])
    }
    expect(here.faults).toEqual([])
  }
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
    await untilOpened(page)
    const blocks = await page.$$eval('.opblock', (all) =>
      all.map((block) => ({ id: block.id, height: block.getBoundingClientRect().height })),
    )
    measured += blocks.length
    tooHigh.push(...blocks.filter(({ height }) => height > 1600).map(({ id, height }) => `${id}: ${height}`))
    await group.evaluate((heading) => (heading as HTMLElement).click())
    await page.waitForSelector('.opblock', { hidden: true })
  }
  expect(measured).toBeGreaterThan(50)
  expect(tooHigh).toEqual([])
})
