import type { SourceLine } from './page.js'

/** Short names of packages in notes, ours and those that users come from, and the options for time and randomness. */
const IMPORTS = [
  'cloudflare',
  'console',
  'core',
  'doorman',
  'express',
  'nest',
  'otel',
  'postgres',
  'prometheus',
  'redis',
]
  .map((name) => `import type * as ${name} from '@fairlead/${name}'`)
  .concat("import type * as server from '@fairlead/doorman/server'")
  .concat(
    [
      ['queue', 'queue'],
      ['quota', 'quota'],
      ['escrow', 'escrow'],
      ['lease', 'doorman'],
    ].map(([name, entry]) => `import type * as ${name} from '@fairlead/core/${entry}'`),
  )
  .concat(
    [
      ['type * as expressRateLimit', 'express-rate-limit'],
      ['type * as throttler', '@nestjs/throttler'],
      ['type * as flexible', 'rate-limiter-flexible'],
      ['type Bottleneck', 'bottleneck'],
      ['type * as pqueue', 'p-queue'],
      ['type underPressure', '@fastify/under-pressure'],
    ].map(([names, library]) => `import ${names} from '${library}'`),
  )
  // Without the keys that a type also accepts, by `[name: string]: any`.
  .concat('type Named<T> = { [Name in keyof T as string extends Name ? never : Name]: T[Name] }')
  .concat("type Seams = Pick<core.GateOptions, 'clock' | 'random' | 'after'>")
  .join('; ')

/**
 * A program that compiles exactly if a table of options lists all options of `type`, and no others. Names are the words
 * in backticks of the first column, without the parameters of functions.
 */
export function tableSource(type: string, [header, , ...rows]: readonly SourceLine[]): SourceLine[] {
  const line = header?.line ?? 0
  return [
    { text: IMPORTS, line },
    { text: `export const options: { [Name in keyof Required<${type}>]: true } = {`, line },
    ...rows.map(({ text, line }) => ({ text: namesOf(text).join(' '), line })),
    { text: '}', line },
  ]
}

function namesOf(row: string): string[] {
  const [, names = ''] = row.split('|')
  return [...names.matchAll(/`(\w+)/g)].map(([, name]) => `${name}: true,`)
}
