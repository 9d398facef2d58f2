import { within } from '../waits.ts'

const sendEveryMs = 1_000
const shutdownMs = 1_000

type Attributes = Record<string, string | number | undefined>

export interface Span {
  traceId: string
  end(attributes: Attributes, hasFailed: boolean): void
}

export type Tracing = Awaited<ReturnType<typeof openTracing>>

/**
 * Sends spans by OTLP, configured by OpenTelemetry's standard environment variables. Drops spans if the collector is slow. A
 * request with a `traceparent` follows its sampled flag; any other request is sampled.
 */
export async function openTracing() {
  const { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } = await import('@opentelemetry/api')
  const { BatchSpanProcessor, TracerProvider } = await import('@opentelemetry/sdk-trace')
  const { OTLPTraceExporter } = await import('@opentelemetry/exporter-trace-otlp-http')
  const { detectResources, envDetector, resourceFromAttributes } = await import('@opentelemetry/resources')
  const resource = resourceFromAttributes({ 'service.name': 'docket' })
  const exporter = new OTLPTraceExporter()
  const provider = new TracerProvider({
    resource: resource.merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: [new BatchSpanProcessor({ exporter, scheduledDelayMillis: sendEveryMs })],
  })
  const tracer = provider.getTracer('docket')
  return {
    begin(name: string, traceparent: string | null, start?: Attributes): Span {
      const remote = readTraceparent(traceparent)
      const parent = remote && trace.setSpanContext(ROOT_CONTEXT, { ...remote, isRemote: true })
      const options = { kind: SpanKind.SERVER, attributes: start }
      const span = tracer.startSpan(name, options, parent ?? ROOT_CONTEXT)
      return {
        traceId: span.spanContext().traceId,
        end(attributes, hasFailed) {
          span.setAttributes(attributes)
          if (hasFailed) span.setStatus({ code: SpanStatusCode.ERROR })
          span.end()
        },
      }
    },
    async close(): Promise<void> {
      const sent = provider.shutdown().catch(() => {})
      await within(shutdownMs, sent)
    },
  }
}

/** An id of zeros and the version ff are not valid. */
const format = /^((?!ff)[0-9a-f]{2})-((?!0{32})[0-9a-f]{32})-((?!0{16})[0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/

/** W3C Trace Context. Reads the known part of a later version, as the specification demands. */
export function readTraceparent(header: string | null) {
  const [, version, traceId, spanId, flags, rest] = format.exec(header?.trim() ?? '') ?? []
  if (!traceId || !spanId || !flags || (version === '00' && rest !== undefined)) return undefined
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1 }
}
