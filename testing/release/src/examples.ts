import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { transform } from 'esbuild'
import { type Manifest, ROOT } from './tarballs.js'

const FOLDER = join(ROOT, 'examples/fetch')

/** The folder in which the frameworks of the examples are installed. */
export const EXAMPLE_MODULES: string = join(FOLDER, 'node_modules')

/** A program of `examples/fetch`, and a request that it answers. */
export interface Example {
  readonly title: string
  /** Its file, for example `h3`. */
  readonly file: string
  /** Its dependencies, besides ours. */
  readonly packages: readonly string[]
  /** Code that prints its answer; `handler` and `GET` are the example's. */
  readonly ask: string
  readonly answer: string
}

const SITE = 'http://localhost'
const JSON_HEADERS = `'content-type': 'application/json', accept: 'application/json, text/event-stream'`
const printed = (response: string): string => `console.log(await (await ${response}).text())`
const get = (path: string): string => printed(`handler(new Request('${SITE}${path}'))`)
const post = (path: string, body: unknown): string =>
  printed(
    `handler(new Request('${SITE}${path}', { method: 'POST', headers: { ${JSON_HEADERS} }, body: '${JSON.stringify(body)}' }))`,
  )

export const EXAMPLES: readonly Example[] = [
  { title: 'h3', file: 'h3', packages: ['h3'], ask: get('/items'), answer: 'rope' },
  { title: 'Elysia', file: 'elysia', packages: ['elysia'], ask: get('/items'), answer: 'rope' },
  { title: 'tRPC', file: 'trpc', packages: ['@trpc/server'], ask: get('/trpc/items'), answer: 'rope' },
  {
    title: 'GraphQL Yoga',
    file: 'yoga',
    packages: ['graphql', 'graphql-yoga'],
    ask: post('/graphql', { query: '{ items }' }),
    answer: 'rope',
  },
  {
    title: 'an MCP server',
    file: 'mcp',
    packages: ['@modelcontextprotocol/sdk', 'zod'],
    ask: post('/mcp', {
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'agent', version: '1' } },
    }),
    answer: 'chandlery',
  },
  {
    title: 'a route handler of Next',
    file: 'next-route',
    packages: [],
    ask: printed(`GET(new Request('${SITE}/items/7'), { params: Promise.resolve({ id: '7' }) })`),
    answer: '{"id":"7"}',
  },
]

/** The example with its request, as JavaScript. */
export async function programOf({ file, ask }: Example): Promise<string> {
  return `${await moduleOf(file)}\n${ask}\n`
}

/** An example as JavaScript. */
export async function moduleOf(file: string): Promise<string> {
  const source = readFileSync(join(FOLDER, `src/${file}.ts`), 'utf8')
  return (await transform(source, { loader: 'ts', format: 'esm' })).code
}

/** The version of a package that the examples are tested with. */
export function versionOf(name: string): string {
  const { version } = JSON.parse(readFileSync(join(EXAMPLE_MODULES, name, 'package.json'), 'utf8')) as Manifest
  return String(version)
}
