import { at, eventually, forFile, make, openPair, spawnService, tally, upTo } from '../kit.ts'
import type { ServiceProcess } from '../kit.ts'

const processes = 4
const writersEach = 8
const pair = await openPair({ WRITE_SHARDS: '0' })
const others: ServiceProcess[] = await Promise.all(
  upTo(processes - 2).map(() => forFile(spawnService('web', pair.env))),
)

test('if four processes write to one project, each process makes between 12.5 % and 50 % of the writes', async () => {
  const clients = [pair.atA, pair.atB, ...others.map((other) => at(pair.atA, other))]
  const { id: projectId } = await make(pair.atA, '/projects', { name: 'Hot' })
  const written: number[] = []
  let going = true
  const writers = clients.flatMap((client, process) =>
    upTo(writersEach).map(async () => {
      while (going) {
        await make(client, '/tasks', { title: 'Mine', projectId })
        written.push(process)
      }
    }),
  )
  await eventually('2000 creates', () => written.length >= 2_000)
  going = false
  await Promise.all(writers)
  const share = written.length / processes
  for (const count of Object.values(tally(written))) {
    expect(count).toBeGreaterThan(share / 2)
    expect(count).toBeLessThan(share * 2)
  }
})
