import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

export const node20 = find('node20-linux-x64', 'bin/node')
export const node22 = find('node22-linux-x64', 'bin/node')
export const node24 = find('node24-linux-x64', 'bin/node')
export const node26 = find('node26-linux-x64', 'bin/node')
export const bun = find('@oven/bun-linux-x64', 'bin/bun')
export const deno = find('@deno/linux-x64-glibc', 'deno')

// In a package of its own, because a direct dependency would put its `node` first on the PATH of its owner's scripts.
function find(name, binary) {
  try {
    const path = join(dirname(createRequire(import.meta.url).resolve(`${name}/package.json`)), binary)
    return existsSync(path) ? path : undefined
  } catch {
    return undefined
  }
}
