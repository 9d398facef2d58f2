export function throttle<T>(ms: number, pass: (about: T) => void): (about: T) => void {
  let passedAt = -Infinity
  return (about) => {
    if (performance.now() < passedAt + ms) return
    passedAt = performance.now()
    pass(about)
  }
}
