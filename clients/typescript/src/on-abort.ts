const callbacksOf = new WeakMap<AbortSignal, Set<() => void>>()

/**
 * Calls `callback` when the signal aborts. Returns a function that prevents this. All callbacks of a signal share one
 * listener, because Node warns of a leak when a signal has more than 10.
 */
export function onAbort(signal: AbortSignal, callback: () => void): () => void {
  const callbacks = callbacksOf.get(signal) ?? listenTo(signal)
  callbacks.add(callback)
  return () => void callbacks.delete(callback)
}

function listenTo(signal: AbortSignal): Set<() => void> {
  const callbacks = new Set<() => void>()
  callbacksOf.set(signal, callbacks)
  signal.addEventListener('abort', () => callbacks.forEach((one) => one()), { once: true })
  return callbacks
}
