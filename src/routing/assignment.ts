import type { Peer } from './rpc.ts'
import type { Known } from './directory.ts'
import { place } from './placement.ts'

export type Home = Peer | 'here'
type IsUsable = (id: string) => boolean

/** The home of each shard as this process sees it. What it knows does not change: with news, there is another. */
export class Assignment {
  private readonly ids: string[]
  /** By shard: as it was assigned, or as it will be where that one is gone. */
  private readonly placed: string[]
  private readonly homes: Home[]
  /** Where to go while some cannot be used, and which can. */
  private detours: Home[] = []
  private readonly usable: boolean[] = []

  constructor(
    private readonly shards: number,
    private readonly known: Known,
    private readonly me: string | undefined,
  ) {
    this.ids = [...known.peers.keys()]
    this.placed = place(shards, this.ids, known.assigned, false)
    this.homes = this.among(this.ids)
  }

  /** Undefined when nobody is known who can be used. On the way of every write: nothing is made here. */
  homeOf(shard: number, isUsable: IsUsable): Home | undefined {
    const home = this.homes[shard]
    if (home === undefined || home === 'here' || isUsable(home.id)) return home
    if (this.hasChanged(isUsable)) this.detours = this.among(this.ids.filter((_, i) => this.usable[i]))
    return this.detours[shard]
  }

  /** The shards of which this process is home. */
  here(): number[] {
    return this.homes.flatMap((home, shard) => (home === 'here' ? [shard] : []))
  }

  private hasChanged(isUsable: IsUsable): boolean {
    let hasChanged = false
    for (let i = 0; i < this.ids.length; i++) {
      const id = this.ids[i]!
      const isNow = id === this.me || isUsable(id)
      if (this.usable[i] === isNow) continue
      this.usable[i] = isNow
      hasChanged = true
    }
    return hasChanged
  }

  /** All find the same: who cannot be used is passed over as if it were gone. */
  private among(ids: string[]): Home[] {
    const homes = place(this.shards, ids, this.placed, false)
    return homes.map((id) => (id === this.me ? 'here' : this.known.peers.get(id)!))
  }
}
