// Loaded before everything else into a process whose clock is to be wrong, by CLOCK_SHIFT_MS.
const shiftMs = Number(process.env.CLOCK_SHIFT_MS)
const Right = Date
const now = () => Right.now() + shiftMs

globalThis.Date = new Proxy(Right, {
  construct: (_, args) => (args.length ? Reflect.construct(Right, args) : new Right(now())),
  get: (_, key) => (key === 'now' ? now : Reflect.get(Right, key)),
})
Object.defineProperty(performance, 'timeOrigin', { value: performance.timeOrigin + shiftMs })
