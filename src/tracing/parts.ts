import type { Tracing } from './tracing.ts'

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
