import { expect, test } from 'bun:test'
import { openThreeHomes } from './three-homes.ts'

const processCount = 3
const { inTurn, replace } = await openThreeHomes()

test(
  'a process is frozen longer than its lease: no write is done twice, no acknowledged write is lost',
  () =>
    inTurn(async (web) => {
      web.signal('SIGSTOP')
      await Bun.sleep(6_000)
      web.signal('SIGCONT')
    }),
  180_000,
)

test('a process is restarted: only requests to its closed port fail', async () => {
  const loads = await inTurn(async (web) => {
    expect(await web.stop()).toBe(0)
    await replace(web)
  })
  for (const [i, { writes, reads }] of loads.entries()) {
    const wasSentThere = ({ title }: { title: string }) => writerOf(title) % processCount === i
    const failed = writes.filter(({ status }) => status !== 201)
    expect(failed.filter((write) => write.status !== 0 || !wasSentThere(write))).toEqual([])
    expect(reads.filter((status) => ![200, 0].includes(status))).toEqual([])
  }
}, 180_000)

const writerOf = (title: string): number => Number(/writer (\d+)/.exec(title)![1])
