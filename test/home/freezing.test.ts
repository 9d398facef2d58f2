import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test'
import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { eventually, upTo } from '../races/pair.ts'
import { sharedRedisPrefix } from '../support/redis.ts'
import { runtimeOptions } from '../support/service.ts'
import { agreed, type Member, openMember } from './member.ts'

let env: Record<string, string>
let a: Member
let worker: Member
let frozen: ChildProcess
let itsView: (string | null)[] = []
beforeAll(async () => {
  const { url, prefix } = sharedRedisPrefix()
  env = { REDIS_URL: url, REDIS_PREFIX: prefix, WRITE_HOMES: '4' }
  const script = new URL('./member-process.ts', import.meta.url).pathname
  frozen = spawn(process.execPath, [...runtimeOptions, script, 'frozen', JSON.stringify(env)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  createInterface({ input: frozen.stdout! }).on('line', (line) => (itsView = JSON.parse(line)))
  await eventually('its own shards', () => itsView.join() === allAt('frozen'))
  a = openMember(env, 'a')
  worker = openMember(env)
  await eventually('the one who was there first', () => a.view().join() === allAt('frozen'))
})
afterEach(() => void frozen.kill('SIGCONT'))
afterAll(() => {
  a.die()
  worker.die()
  frozen.kill('SIGKILL')
})

const allAt = (id: string) =>
  upTo(4)
    .map(() => id)
    .join()

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
