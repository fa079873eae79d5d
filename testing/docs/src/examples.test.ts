import { type RedisServer, withRedisUrl } from '@fairlead-testing/servers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Compiled, compile } from './compile.js'
import { parsePage } from './page.js'
import { pagePaths, textOf } from './repository.js'
import { run, surprises } from './run.js'

const pages = pagePaths().map((path) => ({ path, ...parsePage(path, textOf(path)) }))
const examples = pages.flatMap((page) => page.examples)
const tables = pages.flatMap((page) => page.tables)
const programs = examples.flatMap((example) => (example.output ? [{ ...example, output: example.output }] : []))

describe('code and tables of options in the documentation', () => {
  let compiled: Compiled
  let redis: Pick<RedisServer, 'url' | 'stop'>

  beforeAll(async () => {
    compiled = compile([...examples, ...tables], 'pages')
    redis = await withRedisUrl()
  })
  afterAll(() => redis.stop())

  it('is there', () => {
    expect(examples.length).toBeGreaterThan(20)
    expect(programs.length).toBeGreaterThan(3)
    expect(tables.length).toBeGreaterThan(10)
  })

  it('compiles, as it stands', () => {
    expect(compiled.complaints).toEqual([])
  })

  it.each(programs)('prints what the page says: $page:$line', async (example) => {
    const printed = await run(compiled.program(example), { REDIS_URL: redis.url })
    expect(printed).not.toBe('')
    expect(surprises(printed, example.output)).toEqual([])
  })
})
