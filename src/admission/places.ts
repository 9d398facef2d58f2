/** Writes of a batch that cost as much event-loop time as one request by itself. */
const writesOfRequest = 32
/** Bytes of a body that cost as much as one write. */
const bytesOfWrite = 128
export const writesIn = ({ headers }: Request): number =>
  Math.max(1, Number(headers.get('content-length')) / bytesOfWrite)
export const placesOf = (writes: number): number => Math.ceil(writes / writesOfRequest)
