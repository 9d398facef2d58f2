import { chown, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { localSecret } from '../../src/local/secret.ts'
import { eventually, newFolder, openForEach, upTo } from '../kit.ts'
import { startLocal } from '../../src/local/start.ts'
import { dropNewConnections, filterNotAllowed } from '../../src/local/closing-port.ts'
import { requestForever } from '../processes/strict-client.ts'

const forEach = openForEach()
let dataDir: string

describe('secret', () => {
  beforeEach(async () => void (dataDir = await newFolder('docket-secret-', forEach)))

  test('creates the secret of a data folder once, readable only by its owner', async () => {
    const secret = await localSecret(dataDir)
    expect(Buffer.from(secret, 'base64url')).toHaveLength(48)
    expect(await localSecret(dataDir)).toBe(secret)
    expect((await stat(join(dataDir, 'jwt-secret'))).mode & 0o777).toBe(0o600)
  })

  test('concurrent calls return the same secret, and leave no temporary file', async () => {
    const dir = join(dataDir, 'not/yet/there')
    const secrets = await Promise.all(Array.from({ length: 20 }, () => localSecret(dir)))
    expect(new Set(secrets).size).toBe(1)
    expect(await readdir(dir)).toEqual(['jwt-secret'])
  })

  test('each data folder has its own secret', async () => {
    expect(await localSecret(join(dataDir, 'a'))).not.toBe(await localSecret(join(dataDir, 'b')))
  })
})

// Only root can change the owner of a folder. For other users, the test uses their own folder.
const me = { uid: process.getuid!(), gid: process.getgid!() }
const folderOwner = me.uid === 0 ? { uid: 65_534, gid: 65_534 } : me

describe('owner', () => {
  beforeEach(async () => {
    dataDir = await newFolder('docket-owner-', forEach)
    await chown(dataDir, folderOwner.uid, folderOwner.gid)
  })

  test('files that root creates in the data folder of another user belong to that user', async () => {
    const local = await startLocal({ dataDir, postgres: true, redis: true, log: () => {} })
    await localSecret(dataDir)
    await local.stop()
    const files = await readdir(dataDir, { recursive: true })
    const owners = await Promise.all(files.map(async (name) => (await stat(join(dataDir, name))).uid))
    expect(files.filter((_, i) => owners[i] !== folderOwner.uid)).toEqual([])
    expect(files.length).toBeGreaterThan(100)
  })
})

const here = () => new Response('here')
let server: Bun.Server<undefined>
let beside: ChildProcess

/** Returns false, without a change, if the process lacks the privilege to filter connections. */
function dropsNewConnections(port: number): boolean {
  try {
    dropNewConnections(port)
    return true
  } catch (error) {
    expect(String(error)).toBe(`Error: ${filterNotAllowed}`)
    expect(process.getuid!()).not.toBe(0)
    return false
  }
}

const fetchText = async () =>
  (await fetch(server.url, { keepalive: false, headers: { connection: 'close' } })).text()

describe('closing port', () => {
  beforeEach(async () => {
    server = Bun.serve({ port: 0, hostname: '127.0.0.1', reusePort: true, fetch: here })
    const script = `${import.meta.dir}/beside.ts`
    beside = spawn(process.execPath, [script, String(server.port)], { stdio: ['ignore', 'pipe', 'inherit'] })
    await once(beside.stdout!, 'data')
  })

  afterEach(async () => {
    beside.kill('SIGKILL')
    await server.stop(true)
  })

  test('a closing port leaves new connections to the other process, and keeps open connections', async () => {
    const before = await Promise.all(upTo(64).map(fetchText))
    expect(new Set(before)).toEqual(new Set(['here', 'beside']))
    const request = () => 'GET / HTTP/1.1\r\nHost: docket.test\r\n\r\n'
    const open = upTo(8).map(() => requestForever(server.url.href, request, true))
    await eventually('all connections to be open', () => open.every(({ answered }) => answered > 0))
    if (!dropsNewConnections(server.port!)) {
      await Promise.all(open.map((client) => client.stop()))
      expect(new Set(await Promise.all(upTo(64).map(fetchText)))).toEqual(new Set(['here', 'beside']))
      return
    }
    const after = upTo(64).map(fetchText)
    await Promise.race(after)
    const answered = open.map((client) => client.answered)
    await Bun.sleep(200)
    await Promise.all(open.map((client) => client.stop()))
    await server.stop()
    expect(await Promise.all(after)).toEqual(after.map(() => 'beside'))
    for (const [i, { failures }] of open.entries())
      expect([failures, open[i]!.answered > answered[i]!]).toEqual([[], true])
  })
})
