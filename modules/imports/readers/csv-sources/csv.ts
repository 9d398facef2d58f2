import { csvReader } from '../csv/csv-reader.ts'

export const readCsv = csvReader({})
