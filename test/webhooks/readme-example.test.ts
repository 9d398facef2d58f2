import { createServer, type Server } from 'node:http'
import { expect, test } from 'bun:test'
import { Webhook } from 'standardwebhooks'
import { read } from '../architecture/source.ts'
import { eventually, upTo } from '../races/pair.ts'
import { listen } from '../support/listen.ts'
import { openWebhooks } from './scene.ts'

const openScene = await openWebhooks()

type Receive = (secret: string, take: (event: { seq: number }) => unknown) => Server

function shown(): Receive {
  const [, code] = /^export (const receiver = [^]*?\n {2}\}\)\n)/m.exec(read('docs/webhooks.md').text) ?? []
  return new Function('createServer', 'Webhook', `${code}; return receiver`)(createServer, Webhook)
}

test('the receiver in docs/webhooks.md accepts every event, including retries, and rejects unsigned requests', async () => {
  await using scene = await openScene()
  const { ada } = scene
  const { id, secret } = await scene.hook({ enabled: false })
  const taken: number[] = []
  let isBroken = true
  const server = shown()(secret, ({ seq }) => {
    if (isBroken) throw new Error('The disk is full')
    taken.push(seq)
  })
  const { url, close } = await listen(server)
  expect((await fetch(url, { method: 'POST', body: '{"type":"events","data":{"events":[]}}' })).status).toBe(
    400,
  )
  await ada.patch(scene.path(id), { url, enabled: true })
  expect((await ada.post(`${scene.path(id)}/test`)).body.status).toBe(204 as never)
  await scene.createTasks(3)
  await eventually('a failed attempt', async () => (await scene.state(id)).failures === 1)
  isBroken = false
  await scene.hurry()
  await eventually('all events', () => taken.length >= 4)
  expect(taken).toEqual(upTo(6).slice(2))
  await close()
})
