import { within } from '../within.ts'
import { readTraceparent, writeTraceparent } from './traceparent.ts'

const sendEveryMs = 1_000
/** How long a process that ends waits for the collector. */
const shutdownMs = 1_000

type Attributes = Record<string, string | number | undefined>

export interface Span {
  traceId: string
  /** For parts of the work elsewhere. */
  traceparent: string
  end(attributes: Attributes, hasFailed: boolean): void
}

export type Tracing = Awaited<ReturnType<typeof openTracing>>

/**
 * Sends spans by OTLP over HTTP to the address in the standard variables of OpenTelemetry. Work that comes with a
 * `traceparent` is sent when its flag says so, all other always. Spans that a slow collector does not take are dropped.
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
    begin(name: string, kind: 'SERVER' | 'INTERNAL', traceparent: string | null, given?: Attributes): Span {
      const remote = readTraceparent(traceparent)
      const parent = remote && trace.setSpanContext(ROOT_CONTEXT, { ...remote, isRemote: true })
      const options = { kind: SpanKind[kind], attributes: given }
      const span = tracer.startSpan(name, options, parent ?? ROOT_CONTEXT)
      const context = span.spanContext()
      return {
        traceId: context.traceId,
        traceparent: writeTraceparent(context),
        end(attributes, hasFailed) {
          span.setAttributes(attributes)
          if (hasFailed) span.setStatus({ code: SpanStatusCode.ERROR })
          span.end()
        },
      }
    },
    /** Sends the spans that are not sent yet. */
    async close(): Promise<void> {
      await within(
        shutdownMs,
        provider.shutdown().catch(() => {}),
      )
    },
  }
}

type Execute<What, How, Reply> = (what: What, how: How, deadline: number) => Promise<Reply>

/** Makes a span of each piece of work that is part of a trace, also when it came from another process. */
export function withSpans<What extends { name: string }, How extends { traceparent?: string }, Reply>(
  work: Execute<What, How, Reply>,
  tracing: Tracing | undefined,
): Execute<What, How, Reply> {
  if (!tracing) return work
  return (what, how, deadline) => {
    if (!how.traceparent) return work(what, how, deadline)
    const span = tracing.begin(what.name, 'INTERNAL', how.traceparent)
    const done = work(what, how, deadline)
    const end = (hasFailed: boolean) => () => span.end({}, hasFailed)
    done.then(end(false), end(true))
    return done
  }
}
