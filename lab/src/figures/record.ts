import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type Aim, goalsTable, isMet } from './aims.js'
import type { Figure, Findings, Table } from './figure.js'

/** The JSON of a figure in `docs/figures`. */
export interface FigureRecord {
  readonly about: string
  readonly source?: string
  readonly goals: readonly (Aim & { readonly met?: boolean })[]
  readonly tables: readonly Table[]
  readonly data: unknown
}

export const FOLDER: string = fileURLToPath(new URL('../../../docs/figures/', import.meta.url))

export function recordOf({ about, source, seeds }: Figure, { aims = [], tables, data }: Findings): FigureRecord {
  return {
    about,
    ...(source !== undefined && { source }),
    goals: aims.map((aim) => {
      const met = isMet(aim)
      return met === undefined ? aim : { ...aim, met }
    }),
    tables: aims.length === 0 ? tables : [goalsTable(aims, seeds?.length), ...tables],
    data,
  }
}

/** The stored record; undefined if there is none of that kind, or the figure has not been drawn yet. */
export function readRecord(file: string): FigureRecord | undefined {
  const found = read(file)
  return isRecord(found) ? found : undefined
}

/** A stored table of a figure, or of a benchmark; undefined if there is none of that name. */
export function tableOf(file: string, id: string): Table | undefined {
  const found = read(file)
  return hasTables(found) ? found.tables.find((table) => table.id === id) : undefined
}

function read(file: string): unknown {
  const path = `${FOLDER}${file}.json`
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : undefined
}

/** Does not check every row: only these programs write these files. */
function isRecord(found: unknown): found is FigureRecord {
  return hasTables(found) && 'goals' in found
}

function hasTables(found: unknown): found is Pick<FigureRecord, 'tables'> {
  return typeof found === 'object' && found !== null && 'tables' in found
}
