import { createServer } from 'node:http'
import type { Family } from './family.ts'

/** What several processes tell, each for itself. */
export type Tell = () => Promise<Family[][]>

/**
 * Serves GET /metrics in Prometheus' format; answers how to stop. Who asks while it is asked gets the same answer.
 * @throws the system's error when the port cannot be had
 */
export async function openEndpoint(host: string, port: number, tell: Tell): Promise<() => Promise<void>> {
  const { AggregatorRegistry } = await import('prom-client')
  const written = async () => AggregatorRegistry.aggregate(await tell()).metrics()
  let underWay: Promise<string> | undefined
  const text = () => (underWay ??= written().finally(() => (underWay = undefined)))

  const server = createServer((request, response) => {
    const say = (status: number, type: string, body: string) => {
      response.writeHead(status, { 'content-type': type, connection: 'close' })
      response.end(body)
    }
    if (request.method !== 'GET' || request.url?.split('?')[0] !== '/metrics')
      return say(404, 'text/plain', 'There is only GET /metrics here\n')
    text().then(
      (body) => say(200, AggregatorRegistry.PROMETHEUS_CONTENT_TYPE, body),
      (error) => say(500, 'text/plain', `${error instanceof Error ? error.message : error}\n`),
    )
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host, port }, resolve)
  })
  return async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
}
