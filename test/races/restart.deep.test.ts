import { forFile, makeProjects, openWebs, spawnService } from '../kit.ts'
import { expectAllStored, startLoad } from './load.ts'

test('restarting one of three processes under load fails only requests to its closed port', async () => {
  const { env, webs, people, sql } = await openWebs([{}, {}, {}])
  for (const [i, web] of webs.entries()) {
    const load = startLoad({ clients: people, projectIds: await makeProjects(people[i]!, 12), writers: 24 })
    await load.acknowledged(200)
    expect(await web.stop()).toBe(0)
    await forFile(spawnService('web', { ...env, PORT: new URL(web.url).port }))
    await load.acknowledged(200)
    await expectAllStored(sql, load)
    const processOf = (title: string): number => Number(/writer (\d+)/.exec(title)![1]) % webs.length
    const failed = load.writes.filter(({ status }) => status !== 201)
    expect(failed.filter(({ title, status }) => status !== 0 || processOf(title) !== i)).toEqual([])
    expect(load.reads.filter((status) => ![200, 0].includes(status))).toEqual([])
  }
}, 180_000)
