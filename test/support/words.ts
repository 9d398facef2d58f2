/** Splits a text into its words. */
export const words = (text: string): string[] => text.trim().split(/\s+/)
