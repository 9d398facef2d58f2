// Run by the tests as a process of its own: `home` serves and says what it served; `asker <port>` asks all the time.
import { openRpcServer } from '../../src/routing/rpc-server.ts'
import { RpcClient } from '../../src/routing/rpc-client.ts'
import { echo, limits, listeningLog, soon } from './pair.ts'

const say = (what: object) => process.stdout.write(`${JSON.stringify(what)}\n`)
const [role, port] = process.argv.slice(2)
if (role === 'home') await serve()
else await ask(Number(port))

async function serve(): Promise<void> {
  const options = { ...limits, id: 'home-1', host: '127.0.0.1', port: 0 }
  const server = await openRpcServer(
    options,
    (asks) => {
      const now = performance.now()
      for (const { payload, deadline } of asks) say({ payload, leftMs: deadline - now })
      echo(asks)
    },
    listeningLog(),
  )
  say({ port: server.port })
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
