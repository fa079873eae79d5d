import { readdirSync, readFileSync } from 'node:fs'
import { defineConfig, type ViteUserConfig } from 'vitest/config'

interface Manifest {
  readonly name: string
  readonly scripts?: { readonly test?: string }
}

const manifestOf = (folder: string): Manifest =>
  JSON.parse(readFileSync(new URL(`${folder}/package.json`, import.meta.url), 'utf8')) as Manifest

/** Packages with many tests, or with other ones than Vitest's: the `test` script of the repository names their tasks. */
const named = manifestOf('.').scripts!.test!.split(' ')

/** The tests of all other packages take about as long as a start of Vitest: one start for all of them. */
const projects = ['packages', 'testing', 'examples']
  .flatMap((kind) => readdirSync(new URL(kind, import.meta.url)).map((name) => `${kind}/${name}`))
  .concat('lab')
  .filter((folder) => {
    const { name, scripts } = manifestOf(folder)
    return scripts?.test !== undefined && !named.includes(`${name}#test`)
  })

const config: ViteUserConfig = defineConfig({ test: { maxWorkers: 2, projects } })

export default config
