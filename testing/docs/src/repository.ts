import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** The root of the repository, with a slash at the end. */
export const ROOT: string = fileURLToPath(new URL('../../../', import.meta.url))

/** Paths, from the root, of all hand-written pages. */
export function pagePaths(): string[] {
  const docs = readdirSync(`${ROOT}docs`, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.md') && !/^(?:api|figures)\//.test(path))
    .map((path) => `docs/${path}`)
  const readmes = ['packages', 'examples'].flatMap((folder) =>
    readdirSync(ROOT + folder).map((name) => `${folder}/${name}/README.md`),
  )
  return ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', ...docs, ...readmes].filter((path) => existsSync(ROOT + path))
}

/** The text of a file, by its path from the root. */
export function textOf(path: string): string {
  return readFileSync(ROOT + path, 'utf8')
}
