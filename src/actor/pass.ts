/** What has something to decide. */
interface Deciding {
  decide(): void
}

/**
 * Once in a turn of the event loop, all projects that got commands in it decide one after another: what arrived together
 * is committed together, and costs one pass.
 */
export class Pass {
  private waiting: Deciding[] = []

  add(actor: Deciding): void {
    if (this.waiting.push(actor) === 1) setImmediate(this.run)
  }

  private readonly run = (): void => {
    const actors = this.waiting
    this.waiting = []
    for (const actor of actors) actor.decide()
  }
}
