import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { eventually, forFile, runtimeOptions, sharedRedisPrefix, upTo } from '../kit.ts'
import { agreed, openMember } from './member.ts'

let childView: (string | null)[] = []
afterEach(() => void child.kill('SIGCONT'))

const allShardsAt = (id: string) =>
  upTo(4)
    .map(() => id)
    .join()

const { url, prefix } = sharedRedisPrefix()
const env: Record<string, string> = { REDIS_URL: url, REDIS_PREFIX: prefix, WRITE_SHARDS: '4' }
const script = new URL('./member-process.ts', import.meta.url).pathname
const args = [...runtimeOptions, script, 'child', JSON.stringify(env)]
const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
await forFile({ close: () => child.kill('SIGKILL') })
createInterface({ input: child.stdout }).on('line', (line) => (childView = JSON.parse(line)))
await eventually('the child to be the home of all shards', () => childView.join() === allShardsAt('child'))
const a = await forFile(openMember(env, 'a'))
const worker = await forFile(openMember(env))
await eventually('a to read the assignment', () => a.view().join() === allShardsAt('child'))

test('a frozen home is replaced, and reads the new homes when it resumes', async () => {
  child.kill('SIGSTOP')
  expect(await agreed([a])).toEqual(['a', 'a', 'a', 'a'])
  expect(childView.join()).toBe(allShardsAt('child'))
  child.kill('SIGCONT')
  await eventually('the child reads the new homes', () => childView.join() === allShardsAt('a'))
  expect(a.view().join()).toBe(allShardsAt('a'))
})

test('a resumed process is a member again, and takes over when the other process leaves', async () => {
  await eventually('its heartbeat', () => worker.view(['a']).join() === allShardsAt('child'))
  await a.leave()
  await eventually('the child to be the home of all shards', () => childView.join() === allShardsAt('child'))
})
