import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { launch, type Page } from 'puppeteer-core'
import { forFile, openForEach } from '../kit.ts'

/** Long enough for a busy machine; only a page that hangs exceeds this limit. */
const stepTimeoutMs = 60_000
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

export interface Visit {
  page: Page
  /** Console errors, uncaught exceptions and requests to other hosts. */
  faults: string[]
}

/** Starts a browser for the tests of a file. Returns a function that opens an address in it. */
export async function openBrowser() {
  const args = ['--no-sandbox', '--disable-dev-shm-usage']
  const browser = await forFile(launch({ executablePath: '/usr/bin/chromium', args }))
  const forEach = openForEach()
  /** Visits as a new visitor, without cookies and storage from other tests. */
  return async (url: string, width: number, height: number): Promise<Visit> => {
    const page = await (await forEach(browser.createBrowserContext())).newPage()
    page.setDefaultTimeout(stepTimeoutMs)
    const faults = faultsOf(page, url)
    await page.setViewport({ width, height })
    await page.goto(url, { waitUntil: 'networkidle0' })
    return { page, faults }
  }
}

function faultsOf(page: Page, url: string): string[] {
  const faults: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error') faults.push(`console: ${message.text()}`)
  })
  page.on('pageerror', (error) => faults.push(`exception: ${String(error)}`))
  page.on('request', (request) => {
    const requested = request.url()
    if (!requested.startsWith(`${new URL(url).origin}/`) && !/^(data|blob):/.test(requested))
      faults.push(`request: ${requested}`)
  })
  return faults
}

export async function seriousFindings(page: Page): Promise<string[]> {
  await page.evaluate(axe)
  return page.evaluate(async () => {
    const { axe } = globalThis as unknown as { axe: { run(): Promise<{ violations: Finding[] }> } }
    interface Finding {
      id: string
      impact: string
      nodes: { target: string[] }[]
    }
    const { violations } = await axe.run()
    const serious = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')
    return serious.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map(({ target }) => target.join(' '))}`)
  })
}

/** Opens an operation if it is closed, executes it with its prefilled values, and returns the response. */
export async function execute(
  { page }: Visit,
  operationId: string,
): Promise<{ status: number; body: string }> {
  const block = `.opblock[id$="-${operationId}"]`
  await page.waitForSelector(block)
  const isOpen = await page.$eval(block, (one) => one.classList.contains('is-open'))
  if (!isOpen) await click(page, `${block} .opblock-summary-control`)
  await click(page, `${block} .btn.execute`)
  const response = await page.waitForSelector(`${block} .live-responses-table .response .response-col_status`)
  const status = Number.parseInt(await response!.evaluate((one) => one.textContent ?? ''), 10)
  const body = await page.$eval(
    `${block} .live-responses-table .highlight-code`,
    (one) => one.textContent ?? '',
  )
  return { status, body }
}

async function click(page: Page, selector: string): Promise<void> {
  const element = await page.waitForSelector(selector)
  await element!.evaluate((one) => one.scrollIntoView({ block: 'center' }))
  await element!.click()
}
