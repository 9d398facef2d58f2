import { expect, test } from 'bun:test'
import { Docket } from '../../clients/typescript/src/docket.ts'
import { openTcpProxyTo } from '../support/tcp-proxy.ts'
import { openWebProcess } from '../support/web-process.ts'
import { forFile } from '../support/service.ts'

const { web, ada } = await forFile(openWebProcess())

test('a create whose answer is lost twice leaves one task', async () => {
  let lost = 0
  const proxy = await forFile(
    openTcpProxyTo(web.url, {
      intercept(chunk, to, { client }) {
        const isAnswer = to === client && chunk.toString('latin1').startsWith('HTTP/1.1 201')
        if (!isAnswer || lost === 2) return false
        lost += 1
        client.destroy()
        return true
      },
    }),
  )
  const direct = new Docket({ url: web.url, token: ada.token! })
  const { id: projectId } = await direct.projects.create({ name: 'Engine' })
  const docket = new Docket({ url: proxy.url, token: ada.token! })
  const task = await docket.tasks.create({ projectId, title: 'Draw' })
  expect(lost).toBe(2)
  expect(await direct.tasks.list({ projectId }).all()).toEqual([task])
})
