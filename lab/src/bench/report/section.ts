import type { Table } from '../../figures/figure.js'

/** One chapter of `docs/benchmarks.md`: what one benchmark found. Kept as JSON, so that each can be run alone. */
export interface Section {
  /** Its file in `docs/figures`, without the end. */
  readonly file: string
  readonly title: string
  /** What was measured, and how: a paragraph each. */
  readonly about: readonly string[]
  readonly tables: readonly Table[]
  /** What the tables say in words, made from the same figures: where we are behind, before all. */
  readonly remarks: readonly string[]
  /** An SVG document and what it shows. */
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
