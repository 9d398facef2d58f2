/** Returns a function that calls `call` at most once in `ms`, and ignores all other calls. */
export function throttle<T>(ms: number, call: (argument: T) => void): (argument: T) => void {
  let calledAt = -Infinity
  return (argument) => {
    if (performance.now() < calledAt + ms) return
    calledAt = performance.now()
    call(argument)
  }
}
