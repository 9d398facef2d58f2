type Bytes = Uint8Array<ArrayBuffer>

/**
 * Returns the body of a response. Each chunk is built when the client needs it, so that a slow client costs no memory.
 * After an error, the connection is closed without the end of the body, so that the client detects an incomplete body.
 * @param end is called once, when the response ends for any reason, and ends a read of a chunk in progress
 * @param limitMs of the pause of a client that receives nothing, and of the whole response
 */
export function streamedBody(
  signal: AbortSignal,
  chunks: AsyncGenerator<Uint8Array, void, void>,
  end: (error?: unknown) => unknown,
  limitMs?: { stall: number; all: number },
): ReadableStream<Bytes> {
  let isOver = false
  let stall: ReturnType<typeof setTimeout> | undefined
  let all: typeof stall
  const finish = async (controller?: ReadableStreamDefaultController<Bytes>, error?: unknown) => {
    if (isOver) return
    isOver = true
    clearTimeout(stall)
    clearTimeout(all)
    signal.removeEventListener('abort', abort)
    controller?.error(error)
    await Promise.all([end(error), chunks.return()])
  }
  const abort = () => void finish()
  const limit = (controller: ReadableStreamDefaultController<Bytes>, part: string, ms = 0) =>
    setTimeout(() => {
      void finish(controller, new Error(`The client did not receive ${part} within ${ms / 1_000} s`))
    }, ms)
  return new ReadableStream<Bytes>(
    {
      start(controller) {
        if (signal.aborted) return abort()
        signal.addEventListener('abort', abort, { once: true })
        if (limitMs) all = limit(controller, 'the file', limitMs.all)
      },
      async pull(controller) {
        clearTimeout(stall)
        try {
          const { value, done } = await chunks.next()
          if (isOver) return
          if (limitMs && !done) stall = limit(controller, 'more', limitMs.stall)
          if (value) return controller.enqueue(value as Bytes)
          await finish()
          controller.close()
        } catch (error) {
          void finish(controller, error)
        }
      },
      cancel: () => finish(),
    },
    { highWaterMark: 0 },
  )
}
