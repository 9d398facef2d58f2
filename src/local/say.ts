/** Told what the own servers do; `takesLong` is what whoever waits wants to know at once. */
export type Say = (message: string, takesLong?: boolean) => void
