import { gzipSync } from 'node:zlib'
import { forFile, openTestService } from '../kit.ts'

const { fetch } = await forFile(openTestService())
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const get = (path: string, headers: Record<string, string> = {}) =>
  fetch(path, { headers, redirect: 'manual' })

/** Returns the texts of the files that the page loads, by their paths. */
async function loaded() {
  const page = await (await get('/board')).text()
  const files = new Map<string, string>()
  for (const [, path = ''] of page.matchAll(/(?:href|src)="(\/[^"]*)"/g)) {
    const response = await get(path)
    expect([path, response.status]).toEqual([path, 200])
    expect(response.headers.get('content-security-policy')).toBe(policy)
    files.set(path, await response.text())
  }
  return { page, files }
}

test('the root leads to the board, which has no inline script or style', async () => {
  const response = await get('/')
  expect([response.status, response.headers.get('location')]).toEqual([302, '/board'])
  const { headers } = await get('/board')
  expect(headers.get('content-security-policy')).toBe(policy)
  const { page } = await loaded()
  expect(page).not.toMatch(/<script(?![^>]* src=)|<style|\son\w+=|\sstyle=/)
})

test('the page names every module in advance, and every import has a file', async () => {
  const { files } = await loaded()
  const scripts = [...files].filter(([path]) => path.endsWith('.js'))
  expect(scripts.length).toBeGreaterThan(10)
  const imports = scripts.flatMap(([path, text]) =>
    [...text.matchAll(/^import .*'(.*)'$/gm)].map(
      ([, name]) => new URL(name!, `http://docket${path}`).pathname,
    ),
  )
  expect(new Set(imports).difference(new Set(files.keys()))).toEqual(new Set())
})

test.each(['/board', '/board/main.js', '/board/lib/preact.js', '/board/style.css'])(
  '%s is sent compressed, and not again while it is unchanged',
  async (path) => {
    const plain = await get(path)
    const gzipped = await get(path, { 'accept-encoding': 'gzip' })
    expect(gzipped.headers.get('content-encoding')).toBe('gzip')
    expect(new TextDecoder().decode(Bun.gunzipSync(await gzipped.bytes()))).toBe(await plain.text())
    for (const { headers } of [plain, gzipped]) {
      const etag = headers.get('etag')!
      const again = await get(path, { 'if-none-match': etag })
      expect([again.status, again.headers.get('etag'), await again.text()]).toEqual([304, etag, ''])
    }
    expect(plain.headers.get('etag')).not.toBe(gzipped.headers.get('etag'))
    expect((await get(path, { 'if-none-match': '"other"' })).status).toBe(200)
  },
)

test('BOARD=off removes the board, and the root is a page with links', async () => {
  const { fetch } = await forFile(openTestService({ BOARD: 'off' }))
  for (const path of ['/board', '/board/main.js']) expect((await fetch(path)).status).toBe(404)
  const home = await fetch('/')
  expect([home.status, (await home.text()).includes('API documentation')]).toEqual([200, true])
})

test('below BASE_PATH, the root and all links of the board begin with the path', async () => {
  const { fetch } = await forFile(openTestService({ BASE_PATH: '/docket' }))
  const response = await fetch('/', { redirect: 'manual' })
  expect(response.headers.get('location')).toBe('/docket/board')
  const links = [...(await (await fetch('/board')).text()).matchAll(/(?:href|src)="(\/[^"]*)"/g)]
  expect(links.length).toBeGreaterThan(10)
  expect(links.filter(([, path]) => !path!.startsWith('/docket/board/'))).toEqual([])
})

test('the board has at most 45 kB compressed', async () => {
  const { page, files } = await loaded()
  const bytes = [page, ...files.values()].reduce((sum, text) => sum + gzipSync(text, { level: 9 }).length, 0)
  expect(bytes).toBeLessThanOrEqual(45_000)
})
