// Preloaded into a process to shift its clock by CLOCK_SHIFT_MS.
const shiftMs = Number(process.env.CLOCK_SHIFT_MS)
const SystemDate = Date
const now = () => SystemDate.now() + shiftMs

globalThis.Date = new Proxy(SystemDate, {
  construct: (_, args) => (args.length ? Reflect.construct(SystemDate, args) : new SystemDate(now())),
  get: (_, key) => (key === 'now' ? now : Reflect.get(SystemDate, key)),
})
Object.defineProperty(performance, 'timeOrigin', { value: performance.timeOrigin + shiftMs })
