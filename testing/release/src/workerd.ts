import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { Miniflare } from 'miniflare'

/** What a worker made of this script answers at its root. */
export async function answerOnWorkerd(script: string): Promise<string> {
  process.env['MINIFLARE_WORKERD_PATH'] ??= workerdPath()
  const miniflare = new Miniflare({ modules: true, script, compatibilityDate: '2026-07-01' })
  try {
    const response = await miniflare.dispatchFetch('http://localhost/')
    return await response.text()
  } finally {
    await miniflare.dispose()
  }
}

/** The binary itself; the script that would put it where Miniflare looks for it is not run here. */
function workerdPath(): string {
  const fromMiniflare = createRequire(createRequire(import.meta.url).resolve('miniflare'))
  const fromWorkerd = createRequire(fromMiniflare.resolve('workerd'))
  const name = `@cloudflare/workerd-${process.platform}-${process.arch === 'x64' ? '64' : process.arch}`
  return join(dirname(fromWorkerd.resolve(`${name}/package.json`)), 'bin/workerd')
}
