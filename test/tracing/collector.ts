import { createServer } from 'node:http'
import { listen } from '../kit.ts'

export interface Collected {
  name: string
  traceId: string
  spanId: string
  parentSpanId?: string
  kind: number
  status: { code: number }
  attributes: { key: string; value: { stringValue?: string; intValue?: number } }[]
  service: string
}

interface Sent {
  resourceSpans: {
    resource: { attributes: Collected['attributes'] }
    scopeSpans: { spans: Collected[] }[]
  }[]
}

export async function openCollector() {
  const spans: Collected[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    if (request.url === '/v1/traces') take(JSON.parse(Buffer.concat(chunks).toString()) as Sent)
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
  })
  const take = ({ resourceSpans }: Sent) => {
    for (const { resource, scopeSpans } of resourceSpans) {
      const service = resource.attributes.find(({ key }) => key === 'service.name')?.value.stringValue ?? ''
      for (const span of scopeSpans.flatMap((one) => one.spans)) spans.push({ ...span, service })
    }
  }
  return { spans, ...(await listen(server)) }
}
