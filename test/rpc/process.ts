// Run by the tests as a process of its own: `home` serves and says what it served; `asker <port>` asks all the time.
import { RpcServer } from '../../src/routing/rpc-server.ts'
import type { RequestHandler } from '../../src/routing/rpc.ts'
import { RpcClient } from '../../src/routing/rpc-client.ts'
import { echo, limits, listeningLog, soon } from './pair.ts'

const say = (what: object) => process.stdout.write(`${JSON.stringify(what)}\n`)
const [role, port] = process.argv.slice(2)
if (role === 'home') await serve()
else await ask(Number(port))

async function serve(): Promise<void> {
  const serve: RequestHandler = (requests) => {
    const now = performance.now()
    for (const { payload, deadline } of requests) say({ payload, leftMs: deadline - now })
    echo(requests)
  }
  const server = new RpcServer('home-1', limits, serve, listeningLog())
  say(await server.listen('127.0.0.1', 0))
}

async function ask(port: number): Promise<void> {
  const client = new RpcClient(limits, listeningLog())
  const peer = { id: 'home-1', host: '127.0.0.1', port }
  let answered = 0
  const one = async (): Promise<void> => {
    await client.call(peer, 'again', soon())
    answered++
    return one()
  }
  const told = Array.from({ length: 20 }, () => one().catch((error: Error) => say({ lost: error.message })))
  setInterval(() => say({ answered, isUsable: client.isUsable('home-1') }), 100)
  await Promise.all(told)
}
