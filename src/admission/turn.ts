import { placesOf } from './places.ts'

/** One account's requests in this process. */
export interface Line {
  accountId: string
  /** Of all its requests in progress. */
  places: number
  waiting: Waiting[]
  /** Of all its requests that wait. */
  waitingPlaces: number
  /** Grows when the places of requests that are stuck are given to others: what those took no longer counts. */
  round: number
  /** When a request ended last, on the clock of performance.now(). */
  endedAt: number
}

interface Waiting {
  since: number
  turn: Turn
  places: number
  admit: (turn: Turn) => void
}

interface Admission {
  widen(turn: Turn, places: number): Turn | Promise<Turn>
  leave(turn: Turn): void
}

/** A request in progress, until it ends. */
export class Turn {
  places = 0
  round = 0

  constructor(
    private readonly admission: Admission,
    readonly line: Line,
  ) {}

  /** Takes as many places as a request with so many writes costs. Rejects with 429 when too many requests wait. */
  widen(writes: number): Turn | Promise<Turn> {
    const places = placesOf(writes)
    return places > this.places ? this.admission.widen(this, places) : this
  }

  /** The request is answered, or waits for something that costs nothing: others may go on. */
  end(): void {
    this.admission.leave(this)
  }
}
