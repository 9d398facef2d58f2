// A child process: `home` serves requests and prints them; `client <port>` sends calls until it is killed.
import { RpcServer } from '../../src/routing/rpc-server.ts'
import type { RequestHandler } from '../../src/routing/rpc.ts'
import { RpcClient } from '../../src/routing/rpc-client.ts'
import { echo, limits, memoryLog, inTenSeconds } from './rpc-pair.ts'

const print = (line: object) => process.stdout.write(`${JSON.stringify(line)}\n`)
const [role, port] = process.argv.slice(2)
if (role === 'home') await serve()
else await callHome(Number(port))

async function serve(): Promise<void> {
  const serve: RequestHandler = (requests) => {
    const now = performance.now()
    for (const { payload, deadline } of requests) print({ payload, leftMs: deadline - now })
    echo(requests)
  }
  const server = new RpcServer('home-1', limits, serve, memoryLog())
  print(await server.listen('127.0.0.1', 0))
}

async function callHome(port: number): Promise<void> {
  const client = new RpcClient(limits, memoryLog())
  const peer = { id: 'home-1', host: '127.0.0.1', port }
  let answered = 0
  const callForever = async (): Promise<void> => {
    await client.call(peer, 'again', inTenSeconds())
    answered++
    return callForever()
  }
  const callers = Array.from({ length: 20 }, () =>
    callForever().catch((error: Error) => print({ lost: error.message })),
  )
  setInterval(() => print({ answered, isUsable: client.isUsable('home-1') }), 100)
  await Promise.all(callers)
}
