/** Who asks. Plain data, for it travels with a command; one object for all requests of a session. */
export interface Caller {
  readonly userId: string
}
