import type { Span as OtelSpan } from '@opentelemetry/api'
import { within } from '../within.ts'
import { readTraceparent, type TraceContext, writeTraceparent } from './traceparent.ts'

const sendEveryMs = 1_000
/** How long a process that ends waits for a collector to take the rest. */
const lastMs = 1_000

type Attributes = Record<string, string | number | undefined>

/** A piece of work that is under way. */
export interface Span {
  traceId: string
  /** For whoever does a part of it. */
  traceparent: string
  end(attributes: Attributes, hasFailed: boolean): void
}

export type Tracing = Awaited<ReturnType<typeof openTracing>>

/**
 * Sends spans by OTLP over HTTP to where the standard variables of OpenTelemetry say. Loaded only where it is wanted. Work
 * that comes with a `traceparent` is sent when its flag says so, all other always; what a slow collector does not take
 * is dropped, and nobody waits for it.
 */
export async function openTracing() {
  const { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } = await import('@opentelemetry/api')
  const { BatchSpanProcessor, TracerProvider } = await import('@opentelemetry/sdk-trace')
  const { OTLPTraceExporter } = await import('@opentelemetry/exporter-trace-otlp-http')
  const { detectResources, envDetector, resourceFromAttributes } = await import('@opentelemetry/resources')
  const resource = resourceFromAttributes({ 'service.name': 'docket' })
  const provider = new TracerProvider({
    resource: resource.merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: [
      new BatchSpanProcessor({ exporter: new OTLPTraceExporter(), scheduledDelayMillis: sendEveryMs }),
    ],
  })
  const tracer = provider.getTracer('docket')
  const kinds = { server: SpanKind.SERVER, internal: SpanKind.INTERNAL }
  const parentOf = (context: TraceContext | undefined) =>
    context ? trace.setSpanContext(ROOT_CONTEXT, { ...context, isRemote: true }) : ROOT_CONTEXT
  const ends =
    (span: OtelSpan): Span['end'] =>
    (attributes, hasFailed) => {
      span.setAttributes(attributes)
      if (hasFailed) span.setStatus({ code: SpanStatusCode.ERROR })
      span.end()
    }
  return {
    begin(name: string, kind: keyof typeof kinds, traceparent: string | null, attributes?: Attributes): Span {
      const parent = parentOf(readTraceparent(traceparent))
      const span = tracer.startSpan(name, { kind: kinds[kind], attributes }, parent)
      const context = span.spanContext()
      return { traceId: context.traceId, traceparent: writeTraceparent(context), end: ends(span) }
    },
    /** Sends the spans that are not sent yet. */
    close: async (): Promise<void> =>
      void (await within(
        lastMs,
        provider.shutdown().catch(() => {}),
      )),
  }
}

type Work<What, How, Answer> = (what: What, how: How, deadline: number) => Promise<Answer>

/** Makes a span of each piece of work that is part of a trace, also when it came from another process. */
export const withSpans = <What extends { name: string }, How extends { traceparent?: string }, Answer>(
  work: Work<What, How, Answer>,
  tracing: Tracing | undefined,
): Work<What, How, Answer> =>
  tracing === undefined
    ? work
    : (what, how, deadline) => {
        if (!how.traceparent) return work(what, how, deadline)
        const span = tracing.begin(what.name, 'internal', how.traceparent)
        const done = work(what, how, deadline)
        const end = (hasFailed: boolean) => () => span.end({}, hasFailed)
        done.then(end(false), end(true))
        return done
      }
