interface TraceContext {
  traceId: string
  spanId: string
  traceFlags: number
}

const format = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/
const isAllZeros = /^0+$/

/** W3C Trace Context. Reads the known part of a later version, as the specification demands. */
export function readTraceparent(header: string | null): TraceContext | undefined {
  const [, version = 'ff', traceId = '0', spanId = '0', flags = '', rest] =
    format.exec(header?.trim() ?? '') ?? []
  if (version === 'ff' || (version === '00' && rest !== undefined)) return undefined
  if (isAllZeros.test(traceId) || isAllZeros.test(spanId)) return undefined
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1 }
}

export const writeTraceparent = ({ traceId, spanId, traceFlags }: TraceContext): string =>
  `00-${traceId}-${spanId}-${traceFlags & 1 ? '01' : '00'}`
