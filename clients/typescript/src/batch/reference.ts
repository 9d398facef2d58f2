/** Refers to the row of an operation. Later operations of the same batch accept the reference in place of the row's id. */
export class Reference<Entity extends string> {
  /** Makes references to different entities different types. */
  declare protected readonly entity: Entity
  readonly #operations: object
  readonly #index: number

  /** @param operations the batch that the operation belongs to */
  constructor(operations: object, index: number) {
    this.#operations = operations
    this.#index = index
  }

  /** Returns the index of the operation. @throws TypeError if the reference belongs to another batch */
  indexIn(operations: object): number {
    if (operations !== this.#operations) throw new TypeError('A reference can be used only in its own batch')
    return this.#index
  }
}
