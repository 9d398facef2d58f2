/** The row of an operation of a batch. Later operations of the same batch accept it in place of an id. */
export class Reference<Entity extends string> {
  /** Distinguishes the types of references to different entities. */
  declare protected readonly entity: Entity
  readonly #operations: object
  readonly #index: number

  /** @param operations the batch that the operation belongs to */
  constructor(operations: object, index: number) {
    this.#operations = operations
    this.#index = index
  }

  /** @throws TypeError if the reference belongs to another batch */
  indexIn(operations: object): number {
    if (operations !== this.#operations) throw new TypeError('A reference can be used only in its own batch')
    return this.#index
  }
}
