export const words = (text: string): string[] => text.trim().split(/\s+/)
