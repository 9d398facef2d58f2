import { Docket } from '../../clients/typescript/src/docket.ts'
import { forFile, openTcpProxyTo, openWebProcess, spawnService } from '../kit.ts'

const { web, env, ada } = await forFile(openWebProcess())

test('a create whose service is killed after the commit creates one task after a restart', async () => {
  const { port } = new URL(web.url)
  let restarted: ReturnType<typeof spawnService> | undefined
  const proxy = await forFile(
    openTcpProxyTo(web.url, {
      intercept(chunk, to, { client }) {
        if (to !== client || restarted || !chunk.toString('latin1').startsWith('HTTP/1.1 201')) return false
        restarted = web.stop('SIGKILL').then(() => spawnService('web', { ...env, PORT: port }))
        return true
      },
    }),
  )
  const { id: projectId } = await new Docket({ url: web.url, token: ada.token! }).projects.create({
    name: 'Engine',
  })
  const docket = new Docket({ url: proxy.url, token: ada.token! })
  const task = await docket.tasks.create({ projectId, title: 'Draw' })
  await forFile(restarted!)
  expect(await docket.tasks.list({ projectId }).all()).toEqual([task])
})
