import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

// Paths of the runtimes installed for this platform; undefined if they do not exist for it.
/** The oldest Node that is supported. */
export const node20: string | undefined = find('node20-linux-x64', 'bin/node')
export const node22: string | undefined = find('node22-linux-x64', 'bin/node')
export const node24: string | undefined = find('node24-linux-x64', 'bin/node')
export const node26: string | undefined = find('node26-linux-x64', 'bin/node')
export const bun: string | undefined = find('@oven/bun-linux-x64', 'bin/bun')
export const deno: string | undefined = find('@deno/linux-x64-glibc', 'deno')

// In a package of its own, because a direct dependency would put its `node` first on the PATH of the dependent's
// scripts.
function find(name: string, binary: string): string | undefined {
  try {
    const path = join(dirname(createRequire(import.meta.url).resolve(`${name}/package.json`)), binary)
    return existsSync(path) ? path : undefined
  } catch {
    return undefined
  }
}
