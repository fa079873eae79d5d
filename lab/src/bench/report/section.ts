import type { Table } from '../../figures/figure.js'

/** One chapter of `docs/benchmarks.md`: the results of one benchmark. Stored as JSON, so that each can be run alone. */
export interface Section {
  /** Its file in `docs/figures`, without the extension. */
  readonly file: string
  readonly title: string
  /** The measurement and its method: a paragraph each. */
  readonly about: readonly string[]
  readonly tables: readonly Table[]
  /** The tables in words, made from the same figures: first the cases in which Fairlead is behind. */
  readonly remarks: readonly string[]
  /** An SVG document and its description. */
  readonly picture?: { readonly svg: string; readonly shows: string }
}

/** The chapters in the order of the page, by their files. */
export const CHAPTERS: readonly string[] = [
  'bench-per-key',
  'bench-queue',
  'bench-shed',
  'bench-memory',
  'bench-deaths',
  'bench-ours',
  'bench-escrow',
  'bench-doorman-server',
  'bench-doorman-decision',
  'bench-doorman-turns',
  'bench-http-express',
  'bench-http-fastify',
  'bench-http-koa',
  'bench-http-hono',
  'bench-http-nest-express',
  'bench-http-nest-fastify',
  'bench-http-in-turn',
  'noisy-http',
]
