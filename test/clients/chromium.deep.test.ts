import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openBrowser } from '../browser/browser.ts'
import { forFile, listen, openWebProcess } from '../kit.ts'
import { newFolderWithClient } from './built.ts'
import { expectShownOutput, programOf } from './readme-program.ts'

const folder = await newFolderWithClient()
const client = '/node_modules/docket-client/dist'
const packages = {
  imports: {
    'docket-client': `${client}/index.js`,
    'docket-client/tanstack': `${client}/tanstack.js`,
    '@tanstack/db': '/tanstack-db.js',
  },
}
const html = `<!doctype html><link rel="icon" href="data:,"><script type="importmap">${JSON.stringify(packages)}</script>`
const entry = fileURLToPath(import.meta.resolve('@tanstack/db'))
const [bundle] = (await Bun.build({ entrypoints: [entry], target: 'browser' })).outputs
const files: Record<string, string> = { '/': html, '/tanstack-db.js': await bundle!.text() }

const pages = await forFile(
  listen(
    createServer(async ({ url = '' }, response) => {
      const text = files[url] ?? (await readFile(join(folder, url), 'utf8'))
      response.setHeader('content-type', url === '/' ? 'text/html' : 'text/javascript').end(text)
    }),
  ),
)
const { web } = await forFile(openWebProcess({ CORS_ORIGINS: pages.url }))
const visit = await openBrowser()
files['/program.mjs'] = programOf(web.url, 'Chromium')

const script = `(async () => {
  const lines = []
  console.log = (...values) => lines.push(values.join(' '))
  await import('/program.mjs')
  return lines.join('\\n')
})()`

test('Chromium: every example of the README prints the shown output on a page of another origin', async () => {
  const { page, faults } = await visit(`${pages.url}/`, 800, 600)
  expectShownOutput((await page.evaluate(script)) as string)
  // The examples cause some errors, which browsers also write to the console.
  expect(faults.filter((fault) => fault.startsWith('exception'))).toEqual([])
})
