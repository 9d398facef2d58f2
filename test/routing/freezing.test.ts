import { afterEach, expect, test } from 'bun:test'
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { eventually, upTo } from '../races/pair.ts'
import { sharedRedisPrefix } from '../support/redis.ts'
import { runtimeOptions, forFile } from '../support/service.ts'
import { agreed, openMember } from './member.ts'

let itsView: (string | null)[] = []
afterEach(() => void frozen.kill('SIGCONT'))

const allAt = (id: string) =>
  upTo(4)
    .map(() => id)
    .join()

const { url, prefix } = sharedRedisPrefix()
const env: Record<string, string> = { REDIS_URL: url, REDIS_PREFIX: prefix, WRITE_SHARDS: '4' }
const script = new URL('./member-process.ts', import.meta.url).pathname
const args = [...runtimeOptions, script, 'frozen', JSON.stringify(env)]
const frozen = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
await forFile({ close: () => frozen.kill('SIGKILL') })
createInterface({ input: frozen.stdout }).on('line', (line) => (itsView = JSON.parse(line)))
await eventually('its own shards', () => itsView.join() === allAt('frozen'))
const a = await forFile(openMember(env, 'a'))
const worker = await forFile(openMember(env))
await eventually('the one who was there first', () => a.view().join() === allAt('frozen'))

test('a frozen home is replaced, and wakes up to learn that it is home no more', async () => {
  frozen.kill('SIGSTOP')
  expect(await agreed([a])).toEqual(['a', 'a', 'a', 'a'])
  expect(itsView.join()).toBe(allAt('frozen'))
  frozen.kill('SIGCONT')
  await eventually('the truth', () => itsView.join() === allAt('a'))
  expect(a.view().join()).toBe(allAt('a'))
})

test('awake it is a member again, and takes over when the other leaves', async () => {
  await eventually('it beats', () => worker.view(['a']).join() === allAt('frozen'))
  await a.leave()
  await eventually('it is home', () => itsView.join() === allAt('frozen'))
})
